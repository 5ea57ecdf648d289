import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

Deno.test("requests from the shell: the latest of all accounts or one, and why they failed", async () => {
  let status = 200;
  await using upstream = fakeUpstream(() =>
    status === 200 ? completion("Hi") : Response.json({ error: { message: "no" } }, { status })
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  await using kept = keptOpen();
  const options = { directory: gateway.directory, openParts: kept.openParts };
  const ada = await customer(gateway, 100);
  const json = async (...args: string[]) => {
    const { code, out } = await sluice(["requests", ...args, "--json"], options);
    assertEquals(code, 0, args.join(" "));
    return JSON.parse(out);
  };
  assertEquals((await json()).data, []);
  assertEquals((await sluice(["requests"], options)).out, "(none)\n");
  const ids: string[] = [];
  for (
    const [code, key] of [[200, gateway.key], [503, ada.keys[0]!], [400, gateway.key]] as const
  ) {
    status = code;
    const reply = await gateway.chat("Hi", {}, { key });
    await reply.body?.cancel();
    ids.push(reply.headers.get("request-id")!);
  }
  const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
  assertEquals(idsOf(await json()), ids.toReversed());
  assertEquals(idsOf(await json("--limit", "1")), [ids[2]]);
  assertEquals(idsOf(await json("--failed")), [ids[2], ids[1]]);
  assertEquals(idsOf(await json("--account", ada.email)), [ids[1]]);
  assertEquals(idsOf(await json("--account", ada.email, "--failed", "--limit", "5")), [ids[1]]);

  const failed = await json("show", ids[1]!);
  assertEquals(
    [failed.account, failed.outcome, failed.status, failed.reason, failed.attempts],
    [ada.email, "upstream failed", 503, "upstream_unavailable", 2],
  );
  assertEquals(
    failed.attempt_list.map(({ upstream, outcome }: Record<string, string>) => [upstream, outcome]),
    [["default", "status 503"], ["default", "status 503"]],
  );
  const complete = await json("show", ids[0]!);
  assertEquals(
    [complete.outcome, complete.reason, complete.message, complete.attempt_list],
    ["complete", null, null, null],
  );

  const { out: list } = await sluice(["requests", "--failed"], options);
  assertMatch(list, /upstream failed +503 +upstream unavailable: status 503/);
  assertMatch(list, /rejected +400 +invalid request/);
  const { out: shown } = await sluice(["requests", "show", ids[1]!], options);
  assertStringIncludes(shown, "upstream  no reply; last tried default as svc-k2\n");
  assertStringIncludes(shown, "reason    upstream_unavailable\nmessage   The upstream");
  assertMatch(shown, /upstream +model +outcome +ms\ndefault +svc-k2 +status 503 +\d+\n/);
  const { out: whole } = await sluice(["requests", "show", ids[0]!], options);
  assert(!whole.includes("reason") && !whole.includes("outcome  ms"), whole);
});

Deno.test("requests: wrong usage is said", async () => {
  await using gateway = await startGateway();
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  await using kept = keptOpen();
  const options = { directory: gateway.directory, openParts: kept.openParts };
  for (
    const [args, code, says] of [
      [["--limit", "0"], 2, "--limit must be a whole number from 1 to 1000"],
      [["--limit", "1001"], 2, "--limit must be a whole number from 1 to 1000"],
      [["--limit", "x"], 2, "got x"],
      [["--account", "nobody@example.com"], 1, "not found"],
      [["show"], 2, "missing required argument"],
      [["show", "req_nothing"], 1, 'Request "req_nothing" not found: it was not admitted'],
      [["shwo"], 2, "sluice: too many arguments"],
      [["--help"], 0, "show [options] <id>"],
    ] as const
  ) {
    const found = await sluice(["requests", ...args], options);
    assertEquals(found.code, code, args.join(" "));
    assertStringIncludes(found.out + found.err, says);
  }
});
