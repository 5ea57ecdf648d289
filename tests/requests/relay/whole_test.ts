import { assert, assertEquals } from "../../assert.ts";
import { assertLedgerClean } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const MB = 1_048_576;

/** A good reply after that many bytes of space. */
function answerAfter(spaces: number, sent: { bytes: number }): Response {
  const space = new Uint8Array(MB).fill(32);
  let left = spaces;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (left > 0) {
        const piece = space.subarray(0, Math.min(left, MB));
        left -= piece.byteLength;
        sent.bytes += piece.byteLength;
        return controller.enqueue(piece);
      }
      controller.enqueue(await completion("ok").bytes());
      controller.close();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

Deno.test("a whole reply is given up at replies.bytes", async () => {
  let spaces = 8 * MB;
  const sent = { bytes: 0 };
  await using upstream = fakeUpstream(() => answerAfter(spaces, sent));
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  sent.bytes = 0;
  spaces = 32 * MB; // and the answer behind it
  assertEquals(await statusOf(gateway.chat("Hi")), 503);
  spaces = 1_000 * MB;
  sent.bytes = 0;
  assertEquals(await statusOf(gateway.chat("Hi")), 503);
  assert(sent.bytes < 80 * MB, `${sent.bytes} bytes were taken`);
  await assertLedgerClean(gateway);
});
