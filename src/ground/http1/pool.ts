import { setImmediate } from "node:timers";
import type { CoarseTimers } from "../platform/mod.ts";
import { Connection, type ConnectionOwner, type HttpSocket } from "./connection.ts";
import { closedEarly } from "./http_fault.ts";
import { HttpReply, type MakeFault } from "./reply.ts";
import { checkTarget, fieldLines, type RequestBody, RequestWriter } from "./request.ts";

/** How often it is looked for what has taken too long. */
const CHECK_MS = 100;

/** How requests to one server are sent. */
export interface HttpPoolOptions {
  /** Value of `Host`, unless a request has its own. */
  readonly host: string;
  /** Header fields of every request, in lower case; they replace a request's own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether connections are used again. */
  readonly keepsConnections: boolean;
  /** Connects to the server. */
  readonly connect: (signal: AbortSignal) => Promise<HttpSocket>;
  /** Max time for a response's head, and for each piece of its body, in milliseconds. */
  readonly headMs: number;
  readonly bodyMs: number;
  /** Max time to the end of a response, in milliseconds. */
  readonly totalMs: number;
  readonly makeFault: MakeFault;
  readonly timers: CoarseTimers;
}

/** One request. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  /** Path and query, or a whole address. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a GET. */
  readonly body: RequestBody;
  readonly signal: AbortSignal;
}

/**
 * Sends requests to one server, each exactly once, over as many connections as there are requests at a time. One that has become idle is
 * used again, the last one first.
 */
export class HttpPool implements ConnectionOwner {
  readonly #options: HttpPoolOptions;
  readonly #fixed: string;
  readonly writer = new RequestWriter();
  readonly #connections = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #closing = new AbortController();
  #isRetired = false;
  #isChecking = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    const { headers, keepsConnections } = options;
    const connection = keepsConnections ? "keep-alive" : "close";
    this.#fixed = `connection: ${connection}\r\n${fieldLines(headers, () => false)}`;
  }

  /** Name and port of the server. */
  get host(): string {
    return this.#options.host;
  }

  get headMs(): number {
    return this.#options.headMs;
  }

  get bodyMs(): number {
    return this.#options.bodyMs;
  }

  /** Sends a request. What fails, fails the reply. */
  send({ method, target, headers, body, signal }: HttpRequest): HttpReply {
    const reply = new HttpReply(this.#options, signal);
    try {
      const { host, headers: fixed } = this.#options;
      const ownHost = headers.host === undefined ? `host: ${host}\r\n` : "";
      const lines = fieldLines(headers, (name) => Object.hasOwn(fixed, name));
      const head = `${method} ${checkTarget(target)} HTTP/1.1\r\n${ownHost}${this.#fixed}${lines}`;
      void this.#send(reply, head, body);
    } catch (error) {
      reply.fail(error);
    }
    return reply;
  }

  /** Ends once all is sent, and keeps nothing of it. */
  async #send(reply: HttpReply, head: string, body: RequestBody): Promise<void> {
    for (let isSent = false; !isSent && !reply.isOver;) {
      let connection: Connection;
      try {
        connection = await this.#connection();
      } catch (error) {
        return reply.fail(error, "connecting");
      }
      if (reply.isOver) return connection.keep();
      isSent = await connection.send(reply, head, body);
    }
  }

  async #connection(): Promise<Connection> {
    if (this.#idle.length > 0) {
      // what has come to idle connections, above all their end, is read first; and what is sent together wakes a server once
      await turn();
      const kept = this.#idle.pop();
      if (kept !== undefined) return kept;
    }
    const { signal } = this.#closing;
    if (signal.aborted) throw closedEarly();
    const connection = new Connection(await this.#options.connect(signal), this);
    this.#connections.add(connection);
    if (signal.aborted) {
      connection.close();
      throw closedEarly();
    }
    this.#check();
    return connection;
  }

  /** Looks again and again, as long as there are connections. */
  #check(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#options.timers.after(CHECK_MS, () => {
      this.#isChecking = false;
      const nowMs = performance.now();
      for (const connection of this.#connections) connection.check(nowMs);
      if (this.#connections.size > 0) this.#check();
    });
  }

  idle(connection: Connection): void {
    if (this.#isRetired || !this.#options.keepsConnections) connection.close();
    else this.#idle.push(connection);
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
  }

  /** Closes connections once their requests have ended. */
  retire(): void {
    this.#isRetired = true;
    for (const connection of [...this.#idle]) connection.close();
  }

  /** Closes all connections, and fails what they are used for. */
  async close(): Promise<void> {
    this.#isRetired = true;
    this.#closing.abort();
    for (const connection of this.#connections) connection.giveUp();
    await turn(); // reads that were ended
  }
}

let present: Promise<void> | undefined;

/** Resolves once the event loop has read what was there. */
function turn(): Promise<void> {
  return present ??= new Promise((resolve) =>
    setImmediate(() => {
      present = undefined;
      resolve();
    })
  );
}
