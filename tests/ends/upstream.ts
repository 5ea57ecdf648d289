import { sleep } from "../fake/temp.ts";
import { rawServer, readRequest } from "../fake/upstream.ts";
import type { Exchange } from "./exchange.ts";
import { type LineOptions, linesOf, type Piece, wholeOf } from "./lines.ts";
import type { Back, Plan } from "./plan.ts";
import { type Beat, scriptOf } from "./script.ts";
import { countWords, numbersIn } from "./words.ts";

/** An error that an upstream reports in its stream, which is no fault of the request. */
const ERRORS: Readonly<Record<Back, string>> = {
  chat: 'data: {"error":{"message":"overloaded","type":"server_error","code":"server_error"}}\n\n',
  messages:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"overloaded"}}\n\n',
  responses:
    'event: error\ndata: {"type":"error","code":"server_error","message":"overloaded","param":null}\n\n',
  generate: 'data: {"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}\n\n',
};
const WHOLE_ERROR = JSON.stringify({ error: { message: "overloaded", type: "server_error" } });
const GARBAGE = "data: nonsense\n\n";
const STALL_MS = 20_000;
const STREAM_HEAD =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

const encoder = new TextEncoder();

/** A plan that is carried out, and what its upstream sent for it. */
export interface Running {
  readonly plan: Plan;
  readonly exchanges: Exchange[];
}

/**
 * An upstream below HTTP, so that it can end a connection where it likes.
 *
 * @param planOf Returns what a request belongs to.
 */
export function planningUpstream(planOf: (raw: string) => Running) {
  return rawServer(async (connection) => {
    for (let raw; (raw = await readRequest(connection)) !== undefined;) {
      const isOpen = await new Reply(connection, planOf(raw), raw).send();
      if (!isOpen) return;
    }
  });
}

/** Whether a plan's upstream breaks off by itself. */
export function isBreak({ end }: Plan): boolean {
  return end === "closes" || end === "resets" || end === "reports an error" ||
    end === "sends garbage" || end === "stalls";
}

/** What is looked at of a request's body. */
interface AskedBody {
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
  readonly max_output_tokens?: number;
  readonly n?: number;
  readonly logprobs?: boolean;
  readonly top_logprobs?: number;
  readonly generationConfig?: { readonly maxOutputTokens: number };
}

/** One reply of a plan's upstream. What is sent is noted in an exchange. */
class Reply {
  readonly #connection: Deno.TcpConn;
  readonly #plan: Plan;
  readonly #exchanges: Exchange[];
  readonly #body: AskedBody;
  readonly #input: Pick<Exchange, "promptWords" | "continuedChars">;

  constructor(connection: Deno.TcpConn, { plan, exchanges }: Running, raw: string) {
    this.#connection = connection;
    this.#plan = plan;
    this.#exchanges = exchanges;
    const body = raw.slice(raw.indexOf("\r\n\r\n") + 4);
    // generate says in the path that it is a stream
    this.#body = {
      stream: /^POST \S*:streamGenerateContent\?alt=sse /.test(raw),
      ...JSON.parse(body),
    };
    const isContinued = numbersIn(body).length > 1;
    this.#input = { promptWords: countWords(body), continuedChars: isContinued ? body.length : 0 };
  }

  /** Replies. Returns whether the connection can be used again. */
  async send(): Promise<boolean> {
    const { end, back, ignoresChoices, hidden } = this.#plan;
    if (end === "fails at once") return await this.#sendWhole("{}", "503 Service Unavailable");
    const { stream, n, max_tokens, max_completion_tokens, max_output_tokens } = this.#body;
    const limit = max_tokens ?? max_completion_tokens ?? max_output_tokens ??
      this.#body.generationConfig?.maxOutputTokens ?? 0;
    const asked = back === "chat" ? n ?? 1 : 1;
    const choices = ignoresChoices ? 1 : asked;
    const { promptWords, continuedChars } = this.#input;
    const beats = scriptOf(this.#plan, { limit, asked, choices, promptWords, continuedChars });
    const words = beats.reduce((sum, beat) => sum + ("words" in beat ? beat.words : 0), 0);
    const exchange: Exchange = {
      ...this.#input,
      limit,
      asked,
      choices,
      words: choices * words,
      hidden: choices * hidden,
      streamed: stream === true,
      wordsSent: 0,
      reports: [],
      isFinishSent: false,
      isEndSent: false,
      gapMs: 0,
      brokeTick: undefined,
    };
    this.#exchanges.push(exchange);
    return exchange.streamed
      ? await this.#stream(exchange, beats)
      : await this.#whole(exchange, beats);
  }

  #lineOptions({ choices }: Exchange): LineOptions {
    const { logprobs, top_logprobs = 0 } = this.#body;
    return {
      choices,
      logprobs: logprobs === true || top_logprobs > 0,
      reportPlace: this.#plan.reportPlace,
    };
  }

  /** Sends pieces at the plan's pace; breaks off at the end if the plan says so. */
  async #stream(exchange: Exchange, beats: readonly Beat[]): Promise<boolean> {
    const { paceMs, back } = this.#plan;
    const pieces = this.#cut(linesOf(back, beats, this.#lineOptions(exchange)));
    let text = "";
    let head = STREAM_HEAD;
    let sentTick = performance.now();
    const noteGap = () => {
      const tick = performance.now();
      exchange.gapMs = Math.max(exchange.gapMs, tick - sentTick);
      sentTick = tick;
    };
    for (const piece of pieces) {
      if (piece.waitMs !== undefined) await sleep(piece.waitMs);
      note(exchange, piece);
      text += piece.text;
      if (paceMs === 0 || text === "") continue;
      noteGap();
      await this.#write(head + chunkOf(text));
      [head, text] = ["", ""];
      await sleep(paceMs);
    }
    noteGap();
    const rest = head + chunkOf(text);
    if (isBreak(this.#plan)) return await this.#breakOff(exchange, rest);
    await this.#write(rest + LAST_CHUNK);
    return true;
  }

  /** The pieces before the break. */
  #cut(pieces: Piece[]): Piece[] {
    const { breakPlace, breakPart } = this.#plan;
    if (!isBreak(this.#plan)) return pieces;
    const finish = pieces.findIndex(({ isFinish }) => isFinish);
    if (breakPlace === "after finish") return pieces.slice(0, finish + 1);
    if (breakPlace === "before the end mark") return pieces.filter(({ isEnd }) => !isEnd);
    if (breakPlace === "after text") return pieces.slice(0, finish);
    const texts = pieces.flatMap(({ words }, at) => (words === undefined ? [] : [at]));
    return pieces.slice(0, texts[Math.floor(breakPart * texts.length)]);
  }

  async #breakOff(exchange: Exchange, rest: string): Promise<boolean> {
    const { end, breakDelayMs, back } = this.#plan;
    await this.#write(rest);
    // sometimes the break arrives with the text before it, and sometimes long after
    if (breakDelayMs > 0) await sleep(breakDelayMs);
    exchange.brokeTick = performance.now();
    switch (end) {
      case "stalls":
        await this.#awaitClose();
        return false;
      case "resets":
        return false;
      case "reports an error":
        await this.#write(chunkOf(ERRORS[back]) + LAST_CHUNK);
        return true;
      case "sends garbage":
        await this.#write(chunkOf(GARBAGE) + LAST_CHUNK);
        return true;
      default:
        await this.#write(LAST_CHUNK);
        return true;
    }
  }

  async #whole(exchange: Exchange, beats: readonly Beat[]): Promise<boolean> {
    const { back, end } = this.#plan;
    const { body, words, report } = wholeOf(back, beats, this.#lineOptions(exchange));
    const text = JSON.stringify(body);
    if (!isBreak(this.#plan)) {
      note(exchange, { text, words, isFinish: true, isEnd: true, ...(report && { report }) });
      return await this.#sendWhole(text);
    }
    exchange.brokeTick = performance.now();
    if (end === "reports an error") return await this.#sendWhole(WHOLE_ERROR);
    if (end === "sends garbage") return await this.#sendWhole("nonsense");
    const half = text.slice(0, text.length / 2);
    if (end === "closes") return await this.#sendWhole(half);
    await this.#write(wholeHead(text.length) + half);
    return false;
  }

  async #sendWhole(body: string, status = "200 OK"): Promise<boolean> {
    await this.#write(wholeHead(body.length, status) + body);
    return true;
  }

  /** Waits until the gateway gives the reply up. */
  async #awaitClose(): Promise<void> {
    const timer = setTimeout(() => this.#connection.close(), STALL_MS);
    await this.#connection.read(new Uint8Array(1)).catch(() => null);
    clearTimeout(timer);
  }

  async #write(text: string): Promise<void> {
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }
}

function note(exchange: Exchange, { words = 0, report, isFinish, isEnd }: Piece): void {
  exchange.wordsSent += words;
  if (report !== undefined) exchange.reports.push({ report, atWords: exchange.wordsSent });
  exchange.isFinishSent ||= isFinish ?? false;
  exchange.isEndSent ||= isEnd ?? false;
}

function chunkOf(text: string): string {
  return text === "" ? "" : `${text.length.toString(16)}\r\n${text}\r\n`;
}

function wholeHead(bytes: number, status = "200 OK"): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`;
}
