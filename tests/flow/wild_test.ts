/** What clients and upstreams really send, where it departs from what is documented, through a whole gateway. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { eventStream, fakeUpstream } from "../fake/upstream.ts";
import { hear, NOTHING } from "./heard.ts";
import { type Outcome, PLAIN, type Report, REPORTS, USERS } from "./reports.ts";

const PATHS = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
};
const USUAL = {
  chat: { messages: USERS },
  messages: { messages: USERS, max_tokens: 500 },
  responses: { input: "Hi" },
};

/** Upstreams by name, as their settings depart from `quirks: "none"`. */
const UPSTREAMS: Readonly<Record<string, Record<string, string>>> = {
  chat: {},
  first: {},
  busy: {},
  second: {},
  tags: { quirks: "think_tags" },
  openai: { quirks: "openai" },
  deepseek: { quirks: "deepseek" },
  dashscope: { quirks: "dashscope" },
  mistral: { quirks: "mistral" },
  msg: { dialect: "messages" },
  anthropic: { dialect: "messages", quirks: "anthropic" },
  resp: { dialect: "responses" },
};

/** What the first of two targets is asked in between: one that failed five times in a row is left alone. */
const WELL: Report = { of: "", by: ["chat", "first"] };

/** Services have defaults that models of others do not get. */
const OF_SERVICES: Report = {
  of: "",
  by: ["responses", "svc-k2"],
  sends: { temperature: 0.6, top_p: 1 },
  check: ({ body }) => assertEquals([body.temperature, body.top_p], [0.6, 1]),
};

Deno.test("what comes in the wild", async (t) => {
  let report: Report;
  await using upstream = fakeUpstream(({ path, body }) => {
    const name = path.split("/")[2]!;
    const { says = PLAIN[UPSTREAMS[name]!.dialect as "messages" ?? "chat"] } = report;
    if (typeof says === "function") return says(name, body);
    return typeof says === "string" ? eventStream(says) : Response.json(says);
  });
  const route = (targets: readonly string[], more = {}) => ({
    targets: targets.map((upstream) => ({ upstream, model: "m" })),
    prices: { input: 0, cached: 0, output: 1_000_000 },
    minimum: 0,
    context: 200_000,
    maxOutput: 32_000,
    images: "inline" as const,
    reasoning: "effort" as const,
    ...more,
  });
  const names = Object.keys(UPSTREAMS);
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(names.map((name) => [
        name,
        { url: `${upstream.url}/${name}`, quirks: "none" as const, ...UPSTREAMS[name] },
      ])),
      routes: {
        ...Object.fromEntries(names.map((name) => [name, route([name])])),
        budget: route(["anthropic"], { reasoning: "thinking" }),
        two: route(["first", "second"]),
        busy: route(["busy", "second"]),
        small: route(["chat"], { context: 300, maxOutput: 100 }),
        "svc-k2": { targets: [{ upstream: "chat", model: "m" }] },
      },
    },
  });
  const ask = async ({ by: [client, model], path = PATHS[client], asks, headers }: Report) => {
    const body = { model, ...USUAL[client], ...asks };
    return await gateway.post(path, body, { headers: headers ?? {} });
  };
  const outcomeOf = async (report: Report): Promise<Outcome> => {
    const { by: [client, model], first = model, again } = report;
    let response = await ask({ ...report, by: [client, first] });
    if (again !== undefined) {
      const asks = { ...report.asks, ...again(await response.json()) };
      response = await ask({ ...report, asks });
    }
    const { headers } = response;
    const [heard, text] = report.path === undefined
      ? await hear(client, response)
      : [{ ...NOTHING, status: response.status, error: undefined }, await response.text()];
    const body = headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
    const received = upstream.received.at(-1)!;
    return { heard, text, body, headers, received, sent: received?.body };
  };
  let step = 0;
  for (report of [OF_SERVICES, ...Object.values(REPORTS).flat()]) {
    upstream.received.length = 0;
    const own = report;
    if (own.by[1] === "two") {
      report = WELL;
      await (await ask(WELL)).body?.cancel();
      report = own;
      upstream.received.length = 0;
    }
    await t.step(`${own.of} ${own.by.join(" ")} ${step++}`, async () => {
      const outcome = await outcomeOf(own);
      const { hears = {}, sends = {}, requests, adjusted, charged } = own;
      for (const [name, value] of Object.entries(hears)) {
        assertEquals(outcome.heard[name as "text"], value as string, `${name} in ${outcome.text}`);
      }
      for (const [name, value] of Object.entries(sends)) {
        assertEquals(outcome.sent[name], value, `${name} in ${outcome.received.raw}`);
      }
      if (requests !== undefined) assertEquals(upstream.received.length, requests);
      if (adjusted !== undefined) {
        assertMatch(outcome.headers.get("x-sluice-adjusted") ?? "", adjusted);
      }
      own.check?.(outcome);
      if (charged !== undefined) {
        const record = (await usageRecords(gateway)).at(-1)!;
        const tokens = [record.input_tokens, record.cached_tokens, record.output_tokens];
        assertEquals(tokens, charged.map((one, at) => one ?? tokens[at]!));
      }
    });
  }
  // what failed costs nothing
  for (const { status, output_tokens: tokens } of await usageRecords(gateway)) {
    if (Number(status) >= 400) assertEquals(tokens, 0);
  }
});

Deno.test("docs/compatibility.md has a row for each report, under its heading", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/compatibility.md", import.meta.url));
  for (const [heading, reports] of Object.entries(REPORTS)) {
    const [, section] = new RegExp(`^## ${heading}\n([^]*?)(?=^## |$(?![^]))`, "m").exec(page) ??
      [];
    assert(section !== undefined, heading);
    const rows = section.split("\n").filter((line) => line.startsWith("| "));
    const links = rows.map((row) =>
      [...row.matchAll(/\[([\w.-]+\/[\w.-]+#\d+)\]/g)].map(([, one]) => one).join(", ")
    ).filter((one) => one !== "");
    assertEquals(links, [...new Set(reports.map(({ of }) => of))], heading);
  }
});
