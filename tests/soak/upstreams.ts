import { sleep } from "../fake/temp.ts";
import { chunk, sse } from "../fake/upstream.ts";
import { answerText, type Directive, readDirective } from "./directive.ts";

export type Dialect = "chat" | "messages";

/** An upstream that answers what a request's directive asks for, until it is killed. */
export class GoodUpstream implements AsyncDisposable {
  readonly dialect: Dialect;
  #ending = new AbortController();
  #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #port: number;

  constructor(dialect: Dialect) {
    this.dialect = dialect;
    this.#server = this.#serve(0);
    this.#port = this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  /** Ends as a process does that is killed: connections break, new ones are refused, then it is back. */
  async killFor(ms: number): Promise<void> {
    this.#ending.abort();
    await this.#server.finished;
    await sleep(ms);
    for (let tries = 0;; tries++) {
      try {
        this.#ending = new AbortController();
        this.#server = this.#serve(this.#port);
        return;
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse) || tries > 100) throw error;
        await sleep(50);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#server.finished;
  }

  #serve(port: number): Deno.HttpServer<Deno.NetAddr> {
    return Deno.serve(
      { hostname: "127.0.0.1", port, signal: this.#ending.signal, onListen() {} },
      (request) => this.#answer(request),
    );
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.text();
    const directive = readDirective(body);
    await sleep(directive.delayMs);
    const text = answerText(directive);
    if (!asksForStream(body)) return Response.json(whole(this.dialect, text, directive.words));
    return new Response(paced(streamPieces(this.dialect, text), directive), {
      headers: { "content-type": "text/event-stream" },
    });
  }
}

/** Whether a request asks for a stream. */
export function asksForStream(body: string): boolean {
  return /"stream": ?true/.test(body);
}

/** An answer in one piece. */
export function whole(dialect: Dialect, text: string, words: number): unknown {
  return dialect === "chat"
    ? {
      id: "upstream-id",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: { prompt_tokens: 9, completion_tokens: words, total_tokens: 9 + words },
    }
    : {
      id: "msg_upstream",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: words },
    };
}

/** A well-formed stream: how it begins, a piece for each word, how it ends. */
export function streamPieces(dialect: Dialect, text: string): string[] {
  const words = text.split(/(?<= )/);
  if (dialect === "chat") {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: words.length,
      total_tokens: 9 + words.length,
    };
    return [
      sse(chunk({ role: "assistant", content: "" })),
      ...words.map((word) => sse(chunk({ content: word }))),
      sse(chunk({}, "stop"), JSON.stringify({ choices: [], usage }), "[DONE]"),
    ];
  }
  const event = (data: { type: string } & Record<string, unknown>) =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const usage = { input_tokens: 9, output_tokens: 0 };
  const message = { id: "msg_upstream", type: "message", role: "assistant", model: "m", usage };
  return [
    event({
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, stop_sequence: null },
    }) + event({
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    }),
    ...words.map((word) =>
      event({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: word },
      })
    ),
    event({ type: "content_block_stop", index: 0 }) + event({
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens: words.length },
    }) + event({ type: "message_stop" }),
  ];
}

/** Pieces one by one where there is a pause between them, else by many. */
function paced(pieces: readonly string[], { pauseMs }: Directive): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const together = pauseMs === 0 ? 100 : 1;
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      if (pauseMs > 0) await sleep(pauseMs);
      if (at >= pieces.length) return controller.close();
      controller.enqueue(encoder.encode(pieces.slice(at, at + together).join("")));
      at += together;
    },
  }, { highWaterMark: 0 });
}
