/**
 * What does a dialect in front cost over a dialect behind?
 *
 * For each of the four pairings and for the thin proxy, on loopback: requests per second of streams
 * of 50 texts, the cost of one event (streams of 500 texts against those of 50), the time to the
 * first bytes of a stream for a lone caller, and resident memory per open stream.
 *
 * Needs `wrk`. `deno run -A bench/pairings.ts [SECONDS] [ROUNDS] [STREAMS]`
 */

import { baseUrl, startScript, startSluice, startUpstream } from "./gateways.ts";
import { measure, median, pause, type Request, residentMb, say, type Server } from "./harness.ts";

const [seconds = "3", rounds = "3", streams = "500"] = Deno.args;
const CONNECTIONS = 32;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages" } as const;

function request(
  front: keyof typeof PATHS,
  texts: number,
  { port, headers }: Server,
): Request {
  const body = JSON.stringify({
    model: "svc-k2",
    max_tokens: texts,
    messages: [{ role: "user", content: "hello there, how are you today?" }],
    stream: true,
  });
  return { port, headers, path: PATHS[front], body };
}

/** Milliseconds to the first bytes of the body, for one caller at a time. */
async function firstBytes({ port, path, headers, body }: Request): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 300; index++) {
    const started = performance.now();
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const reader = reply.body!.getReader();
    await reader.read();
    times.push(performance.now() - started);
    while (!(await reader.read()).done);
  }
  return median(times.slice(100));
}

/** Resident memory that `count` open streams add, each of them, in KB. */
async function memoryPerStream(
  front: keyof typeof PATHS,
  gateway: Server,
): Promise<number> {
  const { port, path, headers, body } = request(front, 2_000, gateway);
  const open = async () => {
    const leave = new AbortController();
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const { signal } = leave;
    const reading = reply.body!.pipeTo(new WritableStream(), { signal }).catch(() => {});
    return { leave, reading };
  };
  const warm = await Promise.all(Array.from({ length: 20 }, open));
  await pause(2_000);
  const before = await residentMb(gateway.pid);
  const all = await Promise.all(Array.from({ length: Number(streams) }, open));
  await pause(8_000);
  const after = await residentMb(gateway.pid);
  for (const { leave } of [...warm, ...all]) leave.abort();
  await Promise.all([...warm, ...all].map(({ reading }) => reading));
  return (after - before) * 1_024 / Number(streams);
}

{
  await using fast = await startUpstream();
  await using thin = await startScript("thin_proxy.ts", baseUrl(fast));
  await using overChat = await startSluice(baseUrl(fast));
  await using overMessages = await startSluice(baseUrl(fast), { dialect: "messages" });
  const variants = [
    { name: "thin proxy", front: "chat", gateway: thin },
    { name: "chat → chat", front: "chat", gateway: overChat },
    { name: "messages → messages", front: "messages", gateway: overMessages },
    { name: "chat → messages", front: "chat", gateway: overMessages },
    { name: "messages → chat", front: "messages", gateway: overChat },
  ] as const;
  const results = new Map(
    variants.map(({ name }) => [name as string, { short: [], long: [], first: [] } as {
      short: number[];
      long: number[];
      first: number[];
    }]),
  );
  for (let round = 0; round <= Number(rounds); round++) {
    for (const { name, front, gateway } of round % 2 === 0 ? variants : variants.toReversed()) {
      const options = { seconds: Number(seconds), connections: CONNECTIONS };
      const short = await measure(request(front, 50, gateway), options);
      const long = await measure(request(front, 500, gateway), options);
      const first = await firstBytes(request(front, 50, gateway));
      if (round === 0) continue; // warm up
      const own = results.get(name)!;
      own.short.push(short.rate);
      own.long.push(long.rate);
      own.first.push(first);
    }
  }
  say(
    `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s`,
  );
  for (const { name } of variants) {
    const { short, long, first } = results.get(name)!;
    const perEvent = median(long.map((rate, index) => (1 / rate - 1 / short[index]!) / 450 * 1e6));
    say(
      `  ${name.padEnd(20)} ${median(short).toFixed(0).padStart(6)}/s at 50 texts  ` +
        `${median(long).toFixed(0).padStart(5)}/s at 500  ${perEvent.toFixed(2)} µs an event  ` +
        `first bytes ${median(first).toFixed(2)} ms`,
    );
  }
}
await using paced = await startUpstream({ paceMs: 100 });
await using thin = await startScript("thin_proxy.ts", baseUrl(paced));
const thinKb = await memoryPerStream("chat", thin);
say(`  ${"thin proxy".padEnd(20)} ${thinKb.toFixed(0)} KB resident per open stream`);
for (
  const [front, behind] of [
    ["chat", "chat"],
    ["messages", "messages"],
    ["chat", "messages"],
    ["messages", "chat"],
  ] as const
) {
  await using gateway = await startSluice(baseUrl(paced), { dialect: behind });
  const kb = await memoryPerStream(front, gateway);
  say(`  ${`${front} → ${behind}`.padEnd(20)} ${kb.toFixed(0)} KB resident per open stream`);
}
