import { createHmac } from "node:crypto";
import * as z from "zod";
import { DEADLINE_MS, until } from "./temp.ts";

/** How the receiver treats a delivery. */
export type Behaviour =
  | "ok"
  | "error"
  | "redirect"
  | "hang up"
  /** Takes the delivery, and says so too late. */
  | "stall"
  /** Takes the delivery, and the connection breaks before it says so. */
  | "take and hang up"
  | "slow"
  /** Takes the delivery, and says so when the test releases it. */
  | "held";

/** A delivery as it arrived. */
export interface Received {
  readonly body: string;
  readonly signature: string | null;
  readonly deliveryId: string | null;
  readonly behaviour: Behaviour;
  /** IDs and marks of its alerts; empty for Slack. */
  readonly alerts: readonly { readonly id: string; readonly mark: string }[];
}

/** A receiver of alerts on loopback, as somebody writes one: without anything of the gateway's. */
export interface AlertReceiver extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Everything that arrived, whatever became of it. */
  readonly received: readonly Received[];
  /** How each of the next deliveries is treated; `rest` when there are no more. */
  behave(next: readonly Behaviour[], rest?: Behaviour): void;
  /** Waits until deliveries that it acknowledged have this many alerts. */
  waitFor(alerts: number): Promise<void>;
  /** Waits until this many deliveries have arrived, whatever becomes of them. */
  waitForDeliveries(deliveries: number): Promise<void>;
  /** Acknowledges deliveries that are held, and holds no more. */
  release(): void;
  /** Marks that it took, once for each ID, as the documentation says to do. */
  readonly marks: readonly string[];
}

const payload = z.object({
  alerts: z.array(z.object({ id: z.string(), mark: z.string() })),
});

/** Starts one. */
export function alertReceiver(port = 0): AlertReceiver {
  const received: Received[] = [];
  const taken = new Map<string, string>();
  let next: Behaviour[] = [];
  let rest: Behaviour = "ok";
  const late: Promise<unknown>[] = [];
  const closing = new AbortController();
  const held = Promise.withResolvers<void>();
  const listener = Deno.listen({ hostname: "127.0.0.1", port });
  const server = serveHttp();
  async function handle(request: Request): Promise<Response | "hang up"> {
    const body = await request.text();
    const behaviour = next.shift() ?? rest;
    const parsed = payload.safeParse(JSON.parse(body));
    const alerts = parsed.success ? parsed.data.alerts : [];
    received.push({
      body,
      signature: request.headers.get("sluice-signature"),
      deliveryId: request.headers.get("sluice-delivery"),
      behaviour,
      alerts,
    });
    if (!["error", "redirect", "hang up"].includes(behaviour)) {
      for (const { id, mark } of alerts) taken.set(id, mark);
    }
    switch (behaviour) {
      case "error":
        return new Response("broken", { status: 500 });
      case "redirect":
        return new Response(null, {
          status: 302,
          headers: { location: `http://127.0.0.1:${address.port}/elsewhere` },
        });
      case "hang up":
      case "take and hang up":
        return "hang up";
      case "stall":
        await wait(DEADLINE_MS);
        return new Response("late");
      case "slow":
        await wait(300);
        return new Response("ok");
      case "held":
        await Promise.race([held.promise, wait(DEADLINE_MS)]);
        return new Response("ok");
      case "ok":
        return new Response("ok");
    }
  }
  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, ms);
      closing.signal.addEventListener("abort", end, { once: true });
    });
  }
  /** HTTP by hand, since a server of the platform cannot hang up. */
  async function serveHttp(): Promise<void> {
    for await (const connection of listener) late.push(serveOne(connection).catch(() => {}));
  }
  async function serveOne(connection: Deno.Conn): Promise<void> {
    closing.signal.addEventListener("abort", () => close(connection));
    const decoder = new TextDecoder();
    let text = "";
    const buffer = new Uint8Array(65_536);
    const headEnd = () => text.indexOf("\r\n\r\n");
    const length = () => Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
    while (
      headEnd() < 0 ||
      new TextEncoder().encode(text.slice(headEnd() + 4)).length < length()
    ) {
      const read = await connection.read(buffer);
      if (read === null) return close(connection);
      text += decoder.decode(buffer.subarray(0, read), { stream: true });
    }
    const head = text.slice(0, headEnd()).split("\r\n");
    const headers = new Headers(
      head.slice(1).map((line): [string, string] => {
        const at = line.indexOf(":");
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    );
    const body = text.slice(headEnd() + 4);
    const path = head[0]!.split(" ")[1]!;
    const request = new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body });
    const reply = await handle(request);
    if (reply !== "hang up") {
      const bytes = await reply.text();
      const location = reply.headers.get("location");
      await connection.write(
        new TextEncoder().encode(
          `HTTP/1.1 ${reply.status} X\r\n${location === null ? "" : `location: ${location}\r\n`}` +
            `content-length: ${bytes.length}\r\n\r\n${bytes}`,
        ),
      );
    }
    close(connection);
  }
  const address = listener.addr as Deno.NetAddr;
  return {
    url: `http://127.0.0.1:${address.port}/hook?token=hidden`,
    host: `127.0.0.1:${address.port}`,
    port: address.port,
    received,
    behave(list, after = "ok") {
      next = [...list];
      rest = after;
    },
    waitFor: (alerts) => until(() => taken.size >= alerts, { what: `${alerts} alerts` }),
    waitForDeliveries: (deliveries) =>
      until(() => received.length >= deliveries, { what: `${deliveries} deliveries` }),
    release: () => held.resolve(),
    get marks() {
      return [...taken.values()];
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      listener.close();
      await server.catch(() => {});
      await Promise.all(late);
    },
  };
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // closed already
  }
}

/** Verifies a signature without the gateway's code. */
export function isSigned({ body, signature }: Received, secret: string, nowMs: number): boolean {
  const parts = Object.fromEntries(
    (signature ?? "").split(",").map((part) => part.split("=") as [string, string]),
  );
  const expected = createHmac("sha256", secret).update(`${parts.t}.${body}`).digest("hex");
  return expected === parts.v1 && Math.abs(nowMs / 1_000 - Number(parts.t)) < 300;
}
