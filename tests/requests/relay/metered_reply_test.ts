import { meteredOf, withInputOf } from "../../../src/requests/relay/metered_reply.ts";
import type { MeteredPart, ReplyState } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";

const input = (inputTokens: number) => ({ inputTokens, cachedTokens: 0, cacheWrittenTokens: 0 });
const part = (countedOutput: number, reported?: number): MeteredPart => ({
  usage: undefined,
  partialUsage: {
    input: reported === undefined ? undefined : input(reported),
    outputTokens: countedOutput,
    outputAfter: 0,
  },
  countedOutput,
});
const plain = (countedOutput: number): MeteredPart => ({
  usage: undefined,
  partialUsage: undefined,
  countedOutput,
});

/** What is known of a reply in parts. */
function reply(own: MeteredPart, parts?: readonly MeteredPart[]) {
  return meteredOf(
    { ...own, parts } as Partial<ReplyState> as ReplyState,
    1 + (parts?.length ?? 0),
  );
}

Deno.test("what was delivered keeps its output, and has the input that was reported since, each part its own", () => {
  const later = reply(part(90, 7), [part(50, 3), part(40), part(0, 9)]);
  const { partialUsage, requests, countedOutput, parts } = withInputOf(
    reply(part(20), [part(10), part(10, 5), plain(0)]),
    later,
  );
  assertEquals([partialUsage, countedOutput], [part(20, 7).partialUsage, 20]);
  assertEquals(requests, 4);
  assertEquals(
    parts?.map((one) => one.partialUsage),
    [part(10, 3).partialUsage, part(10, 5).partialUsage, undefined],
  );
  const whole = withInputOf(reply(plain(20)), reply(plain(30)));
  assertEquals([whole.partialUsage, whole.parts, whole.countedOutput], [undefined, undefined, 20]);
});
