import {
  ImageFault,
  ImageFetcher,
  type ImageFetcherOptions,
  isPublicAddress,
  type Resolve,
} from "../../../src/requests/images/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { DEADLINE_MS, inTime, sleep } from "../../fake/temp.ts";

/**
 * A test whose connections are given up in the middle: the HTTP client's clock and the servers' pauses
 * tick on for a moment, which Deno takes for leaks of the test.
 */
function guardTest(name: string, run: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test(name, { sanitizeOps: false, sanitizeResources: false }, run);
}

/** A case of the corpus: an address, what the world answers, and whether it may be fetched. */
interface Case {
  readonly url: string;
  readonly verdict: "allow" | "deny";
  readonly why: string;
  readonly stage: string;
  readonly dns?: Readonly<Record<string, readonly (string | readonly string[])[]>>;
  readonly redirects?: readonly { readonly status: number; readonly location: string }[];
}

const cases: Case[] = JSON.parse(
  await Deno.readTextFile(new URL("./ssrf-corpus.json", import.meta.url)),
);
const png = await Deno.readFile(new URL("./files/rgb.png", import.meta.url));

const OPTIONS: Omit<ImageFetcherOptions, "resolve"> = {
  allowPrivateHosts: [],
  ports: [],
  maxBytes: 1_000_000,
  connectMs: DEADLINE_MS,
  totalMs: DEADLINE_MS,
};

/** A resolver that acts out a case's answers, the successive ones in turn. */
function resolverOf({ dns = {} }: Case): Resolve & { asked: string[] } {
  const times = new Map<string, number>();
  const asked: string[] = [];
  const resolve = async (name: string, signal: AbortSignal): Promise<string[]> => {
    asked.push(name);
    const answers = dns[name] ?? dns[`${name}.`];
    // what a case says nothing of is a public name, unless it is a redirect's
    if (answers === undefined) return Object.keys(dns).length === 0 ? ["93.184.215.14"] : [];
    const at = times.get(name) ?? 0;
    times.set(name, at + 1);
    const flat = answers.every((answer) => typeof answer === "string");
    const now = flat ? answers as string[] : answers[Math.min(at, answers.length - 1)] as string[];
    if (now.includes("TIMEOUT")) {
      await new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason))
      );
    }
    return now.filter((answer) => !answer.startsWith("CNAME")).map((answer) =>
      answer === "SELF" ? "127.0.0.1" : answer
    );
  };
  return Object.assign(resolve, { asked });
}

guardTest(
  "the guard: every case of the corpus gets its verdict, and nothing private is connected to",
  async (t) => {
    let redirects: Case["redirects"] = [];
    let requests = 0;
    await using server = Object.assign(
      Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
        const next = redirects?.[requests++];
        if (next === undefined) {
          return new Response(png, { headers: { "content-type": "image/png" } });
        }
        return new Response(null, { status: next.status, headers: { location: next.location } });
      }),
    );
    // The whole world is one server here: whatever address was judged, its connection leads there.
    for (const one of cases) {
      await t.step(
        `${one.verdict}: ${one.url.slice(0, 60)} (${one.why.slice(0, 60)})`,
        async () => {
          const connected: string[] = [];
          redirects = one.redirects ?? [];
          // a loop never ends in a picture
          if (one.why === "redirect loop") {
            redirects = Array.from({ length: 10 }, () => redirects![0]!);
          }
          requests = 0;
          const fetcher = new ImageFetcher({
            ...OPTIONS,
            totalMs: one.why.includes("budget") ? 300 : DEADLINE_MS,
            resolve: resolverOf(one),
            connect: (_url, { address = "" }) => {
              connected.push(address);
              return Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
            },
          });
          const asked = fetcher.fetch(one.url, new AbortController().signal);
          if (one.verdict === "allow") {
            assertEquals((await asked).bytes, png);
            assert(connected.length > 0);
          } else {
            const fault = await assertRejects(() => asked, ImageFault);
            assert(
              !/\d+\.\d+\.\d+\.\d+|::/.test(fault.message),
              `it tells an address: ${fault.message}`,
            );
          }
          for (const address of connected) {
            assert(isPublicAddress(address), `connected to ${address}`);
          }
          if (one.verdict === "deny" && one.stage !== "redirect") assertEquals(connected, []);
        },
      );
    }
  },
);

/** Listens and counts who connects; must not be reached. */
function canary(hostname: string) {
  const listener = Deno.listen({ hostname, port: 0 });
  let connections = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      connection.close();
    }
  })();
  return {
    port: (listener.addr as Deno.NetAddr).port,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

guardTest(
  "the guard: canaries on loopback and other own addresses are never connected to",
  async () => {
    for (const hostname of ["127.0.0.1", "127.0.0.2", "::1"]) {
      await using bird = canary(hostname);
      const { port } = bird;
      const answers: Record<string, string[][]> = {
        "inside.example": [[hostname]],
        "flips.example": [["93.184.215.14"], [hostname]],
      };
      const times: Record<string, number> = {};
      const fetcher = new ImageFetcher({
        ...OPTIONS,
        ports: [port],
        connectMs: 300,
        resolve: (name) => {
          const at = times[name] = (times[name] ?? -1) + 1;
          const all = answers[name] ?? [];
          return Promise.resolve(all[Math.min(at, all.length - 1)] ?? []);
        },
      });
      const literal = hostname.includes(":") ? `[${hostname}]` : hostname;
      for (
        const url of [
          `http://${literal}:${port}/a.png`,
          `http://localhost:${port}/a.png`,
          `http://inside.example:${port}/a.png`,
          `http://2130706433:${port}/a.png`,
          `http://0x7f.1:${port}/a.png`,
          `http://[::ffff:127.0.0.1]:${port}/a.png`,
          // public when judged, ours when asked again: the connection goes to what was judged, which
          // is somebody who does not answer here
          `http://flips.example:${port}/a.png`,
        ]
      ) {
        await assertRejects(() => fetcher.fetch(url, new AbortController().signal), ImageFault);
      }
      await sleep(50);
      assertEquals(bird.connections, 0, hostname);
    }
  },
);

guardTest(
  "the guard: a redirect to a canary is not followed; a trusted host is fetched",
  async () => {
    await using bird = canary("127.0.0.1");
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => {
        const { pathname } = new URL(request.url);
        assertEquals([request.headers.get("cookie"), request.headers.get("referer")], [null, null]);
        assertEquals(request.headers.get("user-agent"), "sluice-image-fetcher");
        return pathname === "/a.png" ? new Response(png) : new Response(null, {
          status: 302,
          headers: { location: `http://127.0.0.1:${bird.port}/` },
        });
      },
    );
    const { port } = server.addr;
    const fetcher = new ImageFetcher({
      ...OPTIONS,
      allowPrivateHosts: [`127.0.0.1:${port}`],
      resolve: () => Promise.resolve([]),
    });
    const { signal } = new AbortController();
    assertEquals((await fetcher.fetch(`http://127.0.0.1:${port}/a.png`, signal)).bytes, png);
    const fault = await assertRejects(
      () => fetcher.fetch(`http://127.0.0.1:${port}/elsewhere`, signal),
      ImageFault,
    );
    assertEquals(fault.message, "could not be fetched");
    assertEquals(bird.connections, 0);
  },
);

/** A fetcher that trusts one server of the test's own. */
async function against(
  answer: () => Response | Promise<Response>,
  options: Partial<ImageFetcherOptions> = {},
): Promise<{ bytes: Uint8Array } | ImageFault> {
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const host = `127.0.0.1:${server.addr.port}`;
  const fetcher = new ImageFetcher({
    ...OPTIONS,
    allowPrivateHosts: [host],
    resolve: () => Promise.resolve([]),
    ...options,
  });
  try {
    return await fetcher.fetch(`http://${host}/a.png`, new AbortController().signal);
  } catch (error) {
    if (error instanceof ImageFault) return error;
    throw error;
  }
}

guardTest(
  "the fetch: exactly the limit passes, one byte more does not, whatever is declared",
  async () => {
    const maxBytes = 6 * 1_048_576;
    const sent = (size: number, headers = {}) =>
      against(() => new Response(new Uint8Array(size), { headers }), { maxBytes });
    const whole = await sent(maxBytes);
    assert("bytes" in whole && whole.bytes.byteLength === maxBytes);
    const more = await sent(maxBytes + 1);
    assert(more instanceof ImageFault && more.kind === "large");
  },
);

// Proves P10.
guardTest("the fetch: the transfer stops at the limit, streamed and compressed", async () => {
  let sent = 0;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    }, { highWaterMark: 0 });
  const plain = await against(() => new Response(endless()), { maxBytes: 1_000_000 });
  assert(plain instanceof ImageFault && plain.kind === "large");
  assert(sent < 20_000_000, `${sent} bytes were sent`);
  // a few kilobytes that unfold to more than the limit
  const bomb = () =>
    new Response(
      new Blob([new Uint8Array(50_000_000)]).stream().pipeThrough(new CompressionStream("gzip")),
      { headers: { "content-encoding": "gzip" } },
    );
  const unfolded = await against(bomb, { maxBytes: 1_000_000 });
  assert(unfolded instanceof ImageFault && unfolded.kind === "large");
});

guardTest("the fetch: a server that drips a byte at a time without end is given up", async () => {
  const dripping = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          await sleep(100);
          controller.enqueue(Uint8Array.of(1));
        },
      }, { highWaterMark: 0 }),
    );
  const fault = await inTime(against(dripping, { totalMs: 1_000 }), DEADLINE_MS, undefined);
  assert(fault instanceof ImageFault && fault.kind === "late");
});

guardTest("the fetch: other statuses, and a body that breaks off, are no picture", async () => {
  for (
    const answer of [
      () => new Response("no", { status: 404 }),
      () => new Response("no", { status: 500 }),
      () => new Response("partial", { status: 206 }),
      () =>
        new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(png.subarray(0, 100));
              setTimeout(() => controller.error(new Error("gone")), 20);
            },
          }),
        ),
    ]
  ) {
    const fault = await against(answer);
    assert(fault instanceof ImageFault && fault.kind === "unreachable"); // at once, not when it is late
  }
});
