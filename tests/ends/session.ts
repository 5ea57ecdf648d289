import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import type { TestGateway } from "../fake/gateway.ts";
import { RawWebSocket } from "../fake/raw_websocket.ts";
import { sleep } from "../fake/temp.ts";
import { type CallersEnd, FullSocket } from "./full_socket.ts";
import { HALF_CLOSED_MS, isSlow, type Plan, STEADY_MS } from "./plan.ts";
import type { Reading } from "./reading.ts";

/** One response over a WebSocket. */
export interface Turn {
  readonly plan: Plan;
  readonly reading: Reading;
  readonly body: JsonObject;
}

/** Responses over one WebSocket, one after the other, of which one ends as its plan says. */
export class Session {
  readonly #main: Turn;
  readonly #turns: readonly Turn[];
  /** Those whose frames were sent. */
  readonly sent: Turn[] = [];
  #hasLeft = false;
  #hasAskedToCancel = false;
  #previousId: string | undefined;
  /** Of the response that is read. */
  #reading: Reading;

  constructor(main: Turn, turns: readonly Turn[]) {
    this.#main = main;
    this.#turns = turns;
    this.#reading = main.reading;
  }

  async run(gateway: TestGateway, headers: Readonly<Record<string, string>>): Promise<void> {
    if (isSlow(this.#main.plan)) {
      const noticed = (withoutRoomMs: number) => this.#reading.resumed(withoutRoomMs);
      return await this.#overAll(new FullSocket(gateway, { headers, noticed }));
    }
    const { "content-type": _, ...own } = headers;
    await using socket = await RawWebSocket.connect(`${gateway.url}/v1/responses`, own);
    await this.#overAll(socket);
    await sleep(0);
  }

  async #overAll(socket: CallersEnd): Promise<void> {
    const { plan: { sendsAhead, manner, leaveMs } } = this.#main;
    const leave = () => {
      this.#left();
      socket.drop();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (sendsAhead) { for (const turn of this.#turns) await this.#send(turn, socket); }
    try {
      for (const turn of this.#turns) {
        if (!sendsAhead) await this.#send(turn, socket);
        const isTimed = manner === "aborts after time" && (sendsAhead || turn === this.#main);
        if (isTimed) timer ??= setTimeout(leave, leaveMs);
        this.#reading = turn.reading;
        const isMain = turn === this.#main;
        const isOpen = await (isMain ? this.#readMain(socket) : readAll(turn, socket));
        if (!isOpen || this.#hasLeft) break;
        turn.reading.ended();
        // a frame that asks to cancel is read after the turn, and rejected
        if (isMain && this.#hasAskedToCancel) await socket.next();
        const { isWhole } = turn.reading.taken();
        this.#previousId = isWhole ? turn.reading.responseId : undefined;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(turn: Turn, socket: CallersEnd): Promise<void> {
    this.sent.push(turn);
    const { body, plan: { continues }, reading } = turn;
    const previous = continues && this.#previousId !== undefined
      ? { previous_response_id: this.#previousId }
      : {};
    await socket.send({ ...body, ...previous }).catch((error) => reading.fault = String(error));
  }

  #left(): void {
    this.#hasLeft = true;
    for (const { reading } of this.sent) if (!reading.isOver) reading.left();
  }

  /** @returns Whether the connection is open. */
  async #readMain(socket: CallersEnd): Promise<boolean> {
    const { plan: { manner, leaveWords, leaveMs }, reading } = this.#main;
    let hasActed = false;
    while (!reading.isOver) {
      const frame = await socket.next();
      if (frame === undefined) return false;
      reading.addFrame(frame);
      if (reading.isOver) break;
      if (manner === "reads steadily slowly" && (socket as FullSocket).isRead) {
        await reading.pause(STEADY_MS);
      }
      if (hasActed || reading.words < leaveWords) continue;
      // what lies here already has kept nobody waiting
      if (manner === "stops for a while" && !(socket as FullSocket).isRead) continue;
      hasActed = true;
      switch (manner) {
        case "stops for a while":
          await reading.pause(leaveMs);
          break;
        case "stops for good":
          this.#left();
          await sleep(leaveMs);
          (socket as FullSocket).abandon();
          return false;
        case "asks to cancel":
          this.#hasAskedToCancel = true;
          await socket.send({ type: "response.cancel" });
          break;
        case "aborts after words":
          this.#left();
          socket.drop();
          return false;
        case "closes after words":
          this.#left();
          await (socket as RawWebSocket).close();
          break; // and reads what comes before the gateway closes its end
        case "half-closes":
          this.#left();
          await (socket as RawWebSocket).closeWrite();
          setTimeout(() => socket.drop(), HALF_CLOSED_MS);
      }
    }
    return true;
  }
}

async function readAll({ reading }: Turn, socket: CallersEnd): Promise<boolean> {
  while (!reading.isOver) {
    const frame = await socket.next();
    if (frame === undefined) return false;
    reading.addFrame(frame);
  }
  return true;
}
