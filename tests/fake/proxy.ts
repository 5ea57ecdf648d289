import { until } from "./temp.ts";

/** How the proxy treats a connection. */
export type ProxyBehaviour =
  | "ok"
  /** Replies 403 to whatever it is asked. */
  | "refuse"
  /** Replies 502, as where it cannot reach the target. */
  | "unreachable"
  /** Takes the request, and says nothing. */
  | "stall"
  /** Closes the connection once it has the request. */
  | "hang up"
  /** Lets a tunnel open and closes it at the first bytes. */
  | "cut tunnel"
  /** Replies 407 to whatever credentials. */
  | "reject"
  /** Says something that is not HTTP. */
  | "babble"
  /** Replies in several pieces, with headers. */
  | "in pieces"
  /** Says heads without an end. */
  | "endless head";

/** A request as the proxy received it. */
export interface Proxied {
  /** `CONNECT host:port`, or `POST http://host/path`. */
  readonly line: string;
  readonly headers: Headers;
}

/** A proxy on loopback that speaks CONNECT and absolute form, as somebody writes one: without anything of the gateway's. */
export interface TestProxy extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  readonly received: readonly Proxied[];
  /** Connections that are open now. */
  readonly open: number;
  /** How each further request is treated. */
  behaviour: ProxyBehaviour;
  /** Closes all open connections. */
  cut(): void;
  /** Waits until this many requests have arrived. */
  waitFor(requests: number): Promise<void>;
}

export interface TestProxyOptions {
  /** Value of `Proxy-Authorization` that is demanded. */
  readonly authorization?: string;
  /** Where connections really go, whatever was asked for: names that exist nowhere can be asked for. */
  readonly target?: string;
}

const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

/** Starts one. */
export function testProxy({ authorization, target }: TestProxyOptions = {}): TestProxy {
  const received: Proxied[] = [];
  const open = new Set<Deno.Conn>();
  const running = new Set<Promise<void>>();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  const closing = Promise.withResolvers<void>();
  const accepting = (async () => {
    for await (const connection of listener) {
      const one: Promise<void> = serve(connection).catch(() => {}).finally(() => {
        close(connection);
        running.delete(one);
      });
      running.add(one);
    }
  })();

  async function serve(connection: Deno.Conn): Promise<void> {
    open.add(connection);
    let waiting = new Uint8Array();
    while (true) {
      let text = decoder.decode(waiting);
      while (!text.includes("\r\n\r\n")) {
        const more = await readSome(connection);
        if (more === undefined) return;
        waiting = joined(waiting, more);
        text = decoder.decode(waiting);
      }
      const headEnd = text.indexOf("\r\n\r\n") + 4;
      const [line = "", ...fields] = text.slice(0, headEnd - 4).split("\r\n");
      const headers = new Headers(
        fields.map((field): [string, string] => {
          const colon = field.indexOf(":");
          return [field.slice(0, colon), field.slice(colon + 1).trim()];
        }),
      );
      const [method, where = ""] = line.split(" ");
      received.push({ line: `${method} ${where}`, headers: new Headers(headers) });
      const say = (reply: string) => connection.write(encoder.encode(reply));
      if (
        proxy.behaviour === "reject" ||
        authorization !== undefined && headers.get("proxy-authorization") !== authorization
      ) {
        await say(
          'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="x"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
        );
        return;
      }
      switch (proxy.behaviour) {
        case "refuse":
          await say(
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 6\r\nconnection: close\r\n\r\nno way",
          );
          return;
        case "unreachable":
          await say("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
          return;
        case "stall":
          await Promise.race([closing.promise, readSome(connection)]);
          return;
        case "hang up":
          return;
        case "babble":
          await say("SSH-2.0-OpenSSH_9.6\r\n\r\n");
          return;
        case "endless head":
          for (const piece of Array(1_000).fill(`x-filler: ${"x".repeat(100)}\r\n`)) {
            await say(piece);
          }
          return;
      }
      const isTunnel = method === "CONNECT";
      const { host } = new URL(isTunnel ? `http://${where}` : where);
      const [hostname = "", toPort = "80"] = (target ?? host).split(":");
      const upstream = await Deno.connect({ hostname, port: Number(toPort) });
      open.add(upstream);
      try {
        if (!isTunnel) {
          const path = where.slice(where.indexOf("/", "http://".length));
          headers.delete("proxy-authorization");
          headers.set("connection", "close"); // one request for each connection of its own
          const head = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
          await upstream.write(encoder.encode(`${method} ${path} HTTP/1.1\r\n${head}\r\n`));
          await upstream.write(waiting.subarray(headEnd));
        } else if (proxy.behaviour === "in pieces") {
          for (
            const piece of ["HTTP/1.0 2", "00 Connection established\r\nvia: 1.1 x\r\n", "\r", "\n"]
          ) {
            await say(piece);
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        } else await say("HTTP/1.1 200 Connection established\r\n\r\n");
        if (proxy.behaviour === "cut tunnel") {
          await readSome(connection);
          return;
        }
        await Promise.all([pipe(connection, upstream), pipe(upstream, connection)]);
      } finally {
        close(upstream);
      }
      return;
    }
  }

  /** Passes bytes on until one side ends, and then ends both. */
  async function pipe(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    try {
      for (let bytes; (bytes = await readSome(from)) !== undefined;) {
        for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
      }
    } catch {
      // one of them is gone
    }
    close(from);
    close(to);
  }

  function close(connection: Deno.Conn): void {
    open.delete(connection);
    try {
      connection.close();
    } catch {
      // closed already
    }
  }

  const proxy: TestProxy = {
    host: `127.0.0.1:${port}`,
    received,
    get open() {
      return open.size;
    },
    behaviour: "ok",
    cut() {
      for (const one of [...open]) close(one);
    },
    waitFor: (requests) =>
      until(() => received.length >= requests, { what: `${requests} requests at the proxy` }),
    async [Symbol.asyncDispose]() {
      closing.resolve();
      listener.close();
      proxy.cut();
      await accepting;
      await Promise.all(running);
    },
  };
  return proxy;
}

async function readSome(connection: Deno.Conn): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const buffer = new Uint8Array(65_536);
  const size = await connection.read(buffer).catch(() => null);
  return size === null ? undefined : buffer.subarray(0, size);
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
