import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";

const PATH = "/console/operator/upstreams";

Deno.test("an owner adds an upstream by its provider's name: offered by the environment, previewed, written, used", async () => {
  await using upstream = fakeUpstream(({ path, headers }) =>
    path.endsWith("/models")
      ? Response.json({ object: "list", data: [{ id: "llama-x" }] })
      : completion(headers.get("authorization")!)
  );
  await using gateway = await startGateway({
    env: { GROQ_API_KEY: "gsk-of-the-environment", UNRELATED: "x" },
    settings: { routes: { kept: { targets: [{ upstream: "simulator", model: "m" }] } } },
  });
  const browser = await signedIn(gateway, "owner@localhost");
  const shown = await (await browser.get(`${PATH}/add`)).text();
  const offered = /<optgroup label="A key is in the environment">(.*?)<\/optgroup>/s.exec(
    shown,
  )![1]!;
  assertEquals([...offered.matchAll(/value="([^"]*)"/g)].map(([, id]) => id), ["groq"]);
  assertStringIncludes(shown, 'value="mistral"');
  assert(!shown.includes("gsk-of-the-environment"));

  const fields = { provider: "groq", name: "fast", url: upstream.url, discover: "yes" };
  const preview = await (await browser.post(`${PATH}/preview`, fields, { from: `${PATH}/add` }))
    .text();
  assertStringIncludes(preview, "Add fast?");
  const digest = /name="digest" value="([^"]*)"/.exec(preview)![1]!;
  const save = (more = {}) =>
    browser.post(`${PATH}/save`, { ...fields, digest, ...more }, { from: `${PATH}/add` });
  assertEquals(await statusOf(save({ digest: "0".repeat(64) })), 400);
  assertEquals((await save()).status, 303);
  const file = JSON.parse(await Deno.readTextFile(`${gateway.directory}/sluice.jsonc`));
  assertEquals(file.upstreams, {
    fast: { provider: "groq", url: upstream.url, discover: true },
  });
  const reply = await gateway.post("/v1/chat/completions", {
    model: "llama-x",
    messages: [{ role: "user", content: "Hi" }],
  });
  assertEquals((await reply.json()).choices[0].message.content, "Bearer gsk-of-the-environment");

  // what is wrong with it is said in the form, and nothing is written
  const before = await Deno.readTextFile(`${gateway.directory}/sluice.jsonc`);
  for (
    const [wrong, words] of [
      [fields, "already"],
      [{ provider: "nobody" }, "Select a provider"],
      [{ provider: "other", name: "own" }, "Enter the base URL"],
      [{ provider: "groq", name: "a b" }, "The name must consist of"],
      [{ provider: "groq", key: "sk-a-pasted-key" }, "and not the key itself"],
      [{ provider: "mistral" }, "set MISTRAL_API_KEY in the environment"],
      [{ provider: "azure", key: "GROQ_API_KEY" }, "resource"],
    ] as const
  ) {
    const answer = await browser.post(`${PATH}/preview`, { discover: "yes", ...wrong }, {
      from: `${PATH}/add`,
    });
    const text = await answer.text();
    assertEquals(
      [answer.status, text.includes(words)],
      [400, true],
      `${words}: ${/notice bad.*?<\/div>/s.exec(text)?.[0]}`,
    );
  }
  assertEquals(await Deno.readTextFile(`${gateway.directory}/sluice.jsonc`), before);
  const rows = await gateway.gateway.database.all(
    "select after, outcome from operation_log where operation = 'upstream.add' order by at_ms",
  );
  assertEquals(rows.map(({ outcome }) => outcome), ["failed", "done"]);
  assert(!JSON.stringify(rows).includes("gsk-of"));
});

Deno.test("only an owner adds upstreams", async () => {
  await using gateway = await startGateway();
  const { email } = await gateway.gateway.accounts.create({
    email: "operator@example.com",
    role: "operator",
  });
  const browser = await signedIn(gateway, email);
  assert(!(await (await browser.get(PATH)).text()).includes(`${PATH}/add`));
  assertEquals(await statusOf(browser.get(`${PATH}/add`)), 404);
  for (const form of ["preview", "save"]) {
    const reply = browser.post(`${PATH}/${form}`, { provider: "groq" }, { from: PATH });
    assertEquals(await statusOf(reply), 404);
  }
});
