import { assertEquals } from "../../assert.ts";
import { startGateway, statusOf, usageRecords } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

Deno.test("a request's record has the ID that its provider gave it, by whichever header it names it", async () => {
  let headers: Readonly<Record<string, string>> = {};
  await using upstream = fakeUpstream(() => {
    const reply = completion("ok");
    for (const [name, value] of Object.entries(headers)) reply.headers.set(name, value);
    return reply;
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  for (
    const [sent, id] of [
      [{ "x-request-id": "one" }, "one"],
      [{ "request-id": "two" }, "two"],
      [{ "x-amzn-requestid": "three" }, "three"],
      [{ "apim-request-id": "four" }, "four"],
      [{ "apim-request-id": "four", "x-request-id": "one" }, "one"],
      [{ "x-other-id": "five" }, undefined],
      [{}, undefined],
    ] as const
  ) {
    headers = sent;
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    const row = (await usageRecords(gateway)).at(-1);
    assertEquals(JSON.parse(String(row!.details ?? "{}")).id, id, JSON.stringify(sent));
  }
});
