import type { AnswerStream } from "./bridge.ts";
import { Meter } from "./meter.ts";
import { brokenOff } from "./chat/upstream_error.ts";
import { type AnswerEvent, countEvent } from "./neutral.ts";
import type { SseEvent } from "./sse/mod.ts";
import type { Usage } from "./usage.ts";

/** An upstream's stream in neutral events. */
export interface EventReader {
  /** Whether the upstream has said that it is done. */
  readonly done: boolean;
  /** As the upstream reported it. */
  readonly usage: Usage | undefined;
  /** @throws {Refusal} for an error in the stream, or what is not of the dialect. */
  read(data: string): AnswerEvent[];
}

/** Neutral events in the caller's dialect. */
export interface EventEncoder {
  /** Whether the upstream has said why its answer ended. */
  readonly finished: boolean;
  write(event: AnswerEvent): string;
  close(usage: Usage): string;
  ping(): string;
}

/** A stream from one dialect to the other, through the neutral form; no transcript is kept. */
export class TranslatedStream implements AnswerStream {
  hasOutput = false;
  readonly #reader: EventReader;
  readonly #encoder: EventEncoder;
  readonly #meter = new Meter();
  #ended = false;

  constructor(reader: EventReader, encoder: EventEncoder) {
    this.#reader = reader;
    this.#encoder = encoder;
  }

  get finished(): boolean {
    return this.#ended || this.#reader.done;
  }

  get usage(): Usage | undefined {
    return this.#reader.usage;
  }

  get endedChoices(): number {
    return this.#encoder.finished ? 1 : 0;
  }

  get saidFinish(): boolean {
    return this.#encoder.finished;
  }

  get countedOutput(): number {
    return this.#meter.tokens;
  }

  push({ data }: SseEvent): string {
    let written = "";
    for (const event of this.#reader.read(data)) {
      if (countEvent(this.#meter, event)) this.hasOutput = true;
      written += this.#encoder.write(event);
    }
    if (this.#reader.done && !this.#encoder.finished) throw brokenOff();
    return written;
  }

  end(): void {
    if (this.finished) return;
    if (!this.#encoder.finished) throw brokenOff();
    this.#ended = true; // some upstreams send no last event of their own
  }

  truncate(): string {
    return this.#encoder.write({ type: "finish", finish: "length", stopped: undefined });
  }

  close(usage: Usage): string {
    return this.#encoder.close(usage);
  }

  ping(): string {
    return this.#encoder.ping();
  }
}
