/**
 * What does the gateway add to a body of 4 MB of text?
 *
 * One request at a time, over the bare upstream, the thin proxy and Sluice by turns, and beside them one `JSON.parse`
 * plus one `JSON.stringify` of the same body in this process: the least that reading and writing it can cost. Printed:
 * medians, and the time that each adds to the upstream's as a multiple of that.
 *
 * `deno run -A bench/large_text.ts [MEGABYTES] [ROUNDS]`
 */

import { baseUrl, startScript, startSluice, startUpstream } from "./gateways.ts";
import { interleave, median, say, type Server } from "./harness.ts";

const [megabytes = 4, rounds = 60] = Deno.args.map(Number);
const WARM_UP_ROUNDS = 20;
const PROSE = 'The quick brown fox said "hello", and jumped over the lazy dog.\n\tThen it slept. ';

/** A conversation as long as this in all. */
function conversation(bytes: number, messages: number): string {
  const content = PROSE.repeat(Math.ceil(bytes / messages / JSON.stringify(PROSE).length));
  const roles = ["user", "assistant"];
  return JSON.stringify({
    model: "svc-k2",
    max_tokens: 50,
    messages: Array.from({ length: messages }, (_, at) => ({ role: roles[at % 2], content })),
  });
}

async function send({ port, headers }: Server, body: BodyInit): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`status ${reply.status}: ${text}`);
}

await using upstream = await startUpstream();
await using thin = await startScript("thin_proxy.ts", baseUrl(upstream));
await using sluice = await startSluice(baseUrl(upstream));
say(`Deno ${Deno.version.deno}, ${megabytes} MB, ${rounds} rounds`);
for (const messages of [401, 1]) {
  const body = new TextEncoder().encode(conversation(megabytes * 1e6, messages));
  const decoder = new TextDecoder();
  let sink = 0;
  const variants = [
    {
      name: "JSON",
      run: () => {
        const text = decoder.decode(body);
        const began = performance.now();
        sink += JSON.stringify(JSON.parse(text)).length;
        return Promise.resolve(performance.now() - began);
      },
    },
    ...Object.entries({ upstream, thin, sluice }).map(([name, server]) => ({
      name,
      run: async () => {
        const began = performance.now();
        await send(server, body);
        return performance.now() - began;
      },
    })),
  ];
  await interleave(variants, WARM_UP_ROUNDS, ({ run }) => run());
  const results = await interleave(variants, rounds, ({ run }) => run());
  const [json = 0, bare = 0, ...others] = [...results.values()].map(median);
  if (sink === 0) throw new Error("nothing was written");
  say(
    `\n${messages} messages: parse and stringify ${json.toFixed(1)} ms, upstream ${
      bare.toFixed(1)
    } ms`,
  );
  others.forEach((ms, at) =>
    say(
      `  ${variants[at + 2]!.name.padEnd(7)} ${ms.toFixed(1)} ms: adds ${
        (ms - bare).toFixed(1)
      } ms, ` +
        `${((ms - bare) / json).toFixed(2)} times parse and stringify`,
    )
  );
}
