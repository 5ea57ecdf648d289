import fc from "fast-check";
import { settingsDiff } from "../../../src/doors/console/operator/settings_diff.ts";
import { digestOf } from "../../../src/ground/platform/mod.ts";
import { sessionActor, shellActor } from "../../../src/people/operation_log/mod.ts";
import { perform, ROUTE_WRITE } from "../../../src/operating/operations/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../assert.ts";
import { failingDatabase } from "../../fake/failing_database.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { type PlainBrowser, signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const PATH = "/console/operator/routes";
const SECRET = "sk-upstream-secret-0123456789";
const TIERS = `"tiers": [{ "above": 0, "minute": 1000, "hour": 10000, "day": 100000 }]`;

const FILE = `{
  // our gateway
  "port": 0,
  ${TIERS},
  "upstreams": {
    "one": { "url": "http://127.0.0.1:9/v1", "key": "${SECRET}" },
    "two": { "url": "http://127.0.0.1:9/v1", "key": "\${KEY_TWO}" }
  },
  "routes": {
    "house/small": {
      // agreed with finance
      "prices": { "input": 10, "cached": 5, "output": 40 },
      "targets": [
        { "upstream": "one", "model": "m" }, // the cheap one
        { "upstream": "two", "model": "n" }
      ]
    }
  },
  "metricsToken": "${SECRET}-metrics" // last
}
`;

const OPTIONS = { env: { KEY_TWO: "sk-two" }, looksInside: true };

/** A gateway whose settings file is the text. */
async function gatewayOf(text: string): Promise<TestGateway> {
  const gateway = await startGateway(OPTIONS);
  await giveFile(gateway, text);
  return gateway;
}

/** Makes a text the settings file of a gateway. */
async function giveFile(gateway: TestGateway, text: string): Promise<void> {
  const { fault } = await gateway.reload(text);
  assertEquals(fault, null);
}

function fileOf({ directory }: TestGateway): string {
  return `${directory}/sluice.jsonc`;
}

/** Values of a page's fields, by name. */
function fieldsOf(html: string): Record<string, string> {
  const unescape = (text: string) =>
    text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const main = html.slice(html.indexOf("<main"));
  const fields: Record<string, string> = {};
  for (const [tag] of main.matchAll(/<input [^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    if (name !== undefined) fields[name] = unescape(/ value="([^"]*)"/.exec(tag)?.[1] ?? "");
  }
  for (const [, name, options] of main.matchAll(/<select name="([^"]*)">(.*?)<\/select>/g)) {
    const all = [...options!.matchAll(/<option value="([^"]*)"( selected="[^"]*")?/g)];
    fields[name!] = (all.find(([, , selected]) => selected) ?? all[0])?.[1] ?? "";
  }
  return fields;
}

/** Fills the form of a route in. Returns the preview, and what confirms it. */
async function preview(
  browser: PlainBrowser,
  route: string,
  changes: Record<string, string>,
): Promise<{ status: number; html: string; fields: Record<string, string> }> {
  const edit = await (await browser.get(`${PATH}/edit?route=${encodeURIComponent(route)}`)).text();
  const reply = await browser.post(`${PATH}/preview`, { ...fieldsOf(edit), ...changes });
  const html = await reply.text();
  return { status: reply.status, html, fields: fieldsOf(html) };
}

const words = (html: string) =>
  html.replace(/<[^>]*>/g, "").replace(/\s+/g, " ").replaceAll("&quot;", '"');

Deno.test("a route is switched off and on again: preview, 404, list; also a built-in one", async () => {
  await using gateway = await gatewayOf(
    FILE.replace(`"metricsToken"`, `"aliases": { "tiny": "house/small" },\n  "metricsToken"`),
  );
  const owner = await signedIn(gateway, OWNER);
  const ask = async (model: string) => {
    const reply = await gateway.chat("Hi", { model });
    const text = await reply.text();
    return reply.status === 404 ? text : "served";
  };
  const table = async () => words(await (await owner.get(PATH)).text());
  assertEquals(await ask("tiny"), "served");
  assert(!(await table()).includes("Switched off"));

  const off = await preview(owner, "house/small", { enabled: "false" });
  assertStringIncludes(words(off.html), `added: "enabled": false`);
  assertStringIncludes(
    words(off.html),
    "New requests for house/small are rejected as for an unknown model (404), as are those for " +
      "its other names: tiny, claude-house/small.",
  );
  assertEquals((await owner.post(`${PATH}/save`, off.fields)).status, 303);
  assertMatch(await ask("house/small"), /Unknown model 'house\/small'/);
  assertMatch(await ask("tiny"), /Unknown model 'tiny'/);
  assertMatch(await table(), /Switched off.*house\/small.*Served/);
  assertStringIncludes(await Deno.readTextFile(fileOf(gateway)), "// agreed with finance");

  const edit = await (await owner.get(`${PATH}/edit?route=house%2Fsmall`)).text();
  assertEquals(fieldsOf(edit).enabled, "false");
  const on = await preview(owner, "house/small", { enabled: "" });
  assertStringIncludes(words(on.html), "Requests for house/small are accepted again.");
  assertStringIncludes(words(on.html), `removed: "enabled": false`);
  assertEquals((await owner.post(`${PATH}/save`, on.fields)).status, 303);
  assertEquals(await ask("tiny"), "served");

  await using builtIn = await gatewayOf(`{\n  "port": 0,\n  ${TIERS}\n}\n`);
  const other = await signedIn(builtIn, OWNER);
  const shown = await preview(other, "svc-k2", { enabled: "false" });
  assertStringIncludes(words(shown.html), `added: "svc-k2": { "enabled": false }`);
  assertEquals((await other.post(`${PATH}/save`, shown.fields)).status, 303);
  assertEquals(await statusOf(builtIn.chat("Hi", { model: "svc-k2" })), 404);
  const listed = await (await fetch(`${builtIn.url}/v1/models`)).text();
  assert(!listed.includes('svc-k2"') && listed.includes("svc-k3"), listed.slice(0, 500));
});

Deno.test("a file that the gateway does not take after all is put back", async () => {
  await using gateway = await gatewayOf(FILE);
  const path = fileOf(gateway);
  const parts = {
    ...gateway.gateway,
    config: gateway.gateway.config,
    catalog: () => gateway.gateway.catalog,
    address: () => Promise.resolve(""),
    now: Date.now,
    gateway: {
      settingsFile: {
        check: () => Promise.resolve(),
        reload: () => Promise.resolve({ fault: "no such certificate", needRestart: [] }),
      },
    },
  } as unknown as Parameters<typeof perform>[0];
  const by = { actor: shellActor(), origin: { door: "command", address: null } } as const;
  await assertRejects(
    () =>
      perform(parts, by, ROUTE_WRITE, {
        route: "house/small",
        settings: { minimum: 4, targets: [{ upstream: "one", model: "m" }] },
        digest: digestOf(FILE),
      }),
    Error,
    "did not take the new settings",
  );
  assertEquals(await Deno.readTextFile(path), FILE);
  const rows = await gateway.gateway.database.all(
    "select outcome, before, after, error from operation_log order by outcome",
  );
  assertEquals(
    rows.map(({ outcome }) => outcome),
    ["done", "failed"],
    "it was written, then undone",
  );
  assertEquals(rows[0]!.after, rows[0]!.before);
  assertMatch(String(rows[1]!.error), /did not take the new settings/);
});

for (const fault of ["before", "after"] as const) {
  Deno.test(`a gateway that dies ${fault} any call to the database leaves no change unlogged`, async () => {
    let control: ReturnType<typeof failingDatabase> | undefined;
    await using gateway = await startGateway({
      env: { KEY_TWO: "sk-two" },
      wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
    });
    assertEquals((await gateway.reload(FILE)).fault, null);
    const { database, config, catalog } = gateway.gateway;
    const parts = {
      ...gateway.gateway,
      config,
      catalog: () => catalog,
      address: () => Promise.resolve(""),
      now: Date.now,
      gateway: {
        settingsFile: {
          check: () => Promise.resolve(),
          reload: () => Promise.resolve({ fault: null, needRestart: [] }),
        },
      },
    } as unknown as Parameters<typeof perform>[0];
    const by = { actor: shellActor(), origin: { door: "command", address: null } } as const;
    const logged = async () =>
      (await database.all("select before from operation_log where outcome = 'done'"))
        .map(({ before }) => JSON.parse(String(before)).minimum ?? 0);
    let last = 0;
    for (let at = 1;; at++) {
      const file = await Deno.readTextFile(fileOf(gateway));
      control!.killAt(at, fault);
      const outcome = await perform(parts, by, ROUTE_WRITE, {
        route: "house/small",
        settings: {
          minimum: at,
          prices: { input: 10, cached: 5, output: 40 },
          targets: [{ upstream: "one", model: "m" }],
        },
        digest: digestOf(file),
      }).catch((error) => error);
      control!.mend();
      const isWritten = await Deno.readTextFile(fileOf(gateway)) !== file;
      const isLogged = (await logged()).includes(last);
      assert(isLogged || !isWritten, `written and not logged: ${at}`);
      if (isWritten) last = at;
      if (!(outcome instanceof Error)) break;
      assert(at < 20, String(outcome));
    }
    assert(last > 2, String(last));
  });
}

Deno.test("who loses the permission while the file is checked changes nothing", async () => {
  await using gateway = await gatewayOf(FILE);
  const { accounts } = gateway.gateway;
  const deputy = await accounts.create({ email: "deputy@example.com", role: "owner" });
  let isChecked = false;
  const parts = {
    ...gateway.gateway,
    config: gateway.gateway.config,
    catalog: () => gateway.gateway.catalog,
    address: () => Promise.resolve(""),
    now: Date.now,
    gateway: {
      settingsFile: {
        async check() {
          isChecked = true;
          await accounts.setRole(deputy.email, "operator");
        },
        reload: () => Promise.reject(new Error("not reached")),
      },
    },
  } as unknown as Parameters<typeof perform>[0];
  const actor = sessionActor({ account: deputy, teams: new Map() });
  const by = { actor, origin: { door: "console", address: null } } as const;
  await assertRejects(
    () =>
      perform(parts, by, ROUTE_WRITE, {
        route: "house/small",
        settings: { minimum: 4, targets: [{ upstream: "one", model: "m" }] },
        digest: digestOf(FILE),
      }),
    Error,
    "permission was taken away",
  );
  assert(isChecked);
  assertEquals(await Deno.readTextFile(fileOf(gateway)), FILE);
  const names = (await Array.fromAsync(Deno.readDir(gateway.directory))).map(({ name }) => name);
  assertEquals(names.filter((name) => name.startsWith(".sluice")), [], "nothing is left over");
  const rows = await gateway.gateway.database.all("select outcome, error from operation_log");
  assertEquals(rows.map(({ outcome }) => outcome), ["failed"]);
  assertMatch(String(rows[0]!.error), /^permission_denied/);
});

Deno.test("who may not change routes sees them without the form", async () => {
  await using gateway = await gatewayOf(FILE);
  await gateway.gateway.accounts.create({ email: "op@example.com", role: "operator" });
  const operator = await signedIn(gateway, "op@example.com");
  const html = await (await operator.get(PATH)).text();
  assertStringIncludes(html, "house/small");
  assert(!html.includes("/routes/edit"));
  for (const path of ["preview", "save"]) {
    const reply = await operator.post(`${PATH}/${path}`, { route: "house/small" }, {
      from: "/console/account",
    });
    await reply.body?.cancel();
    assertEquals(reply.status, 404, path);
  }
  const noToken = await (await signedIn(gateway, OWNER)).post(`${PATH}/save`, {
    route: "house/small",
  });
  await noToken.body?.cancel();
  assertEquals(noToken.status, 403);
});

Deno.test("settingsDiff shows each change with three lines around it, and gaps between (property)", () => {
  // each number once: what is in both is the same line, and there is one shortest way
  const numbers = fc.uniqueArray(fc.nat({ max: 99 }), { maxLength: 24 });
  const flags = fc.array(fc.constantFrom("same", "same", "same", "removed", "added"), {
    minLength: 24,
    maxLength: 24,
  });
  fc.assert(fc.property(numbers, flags, (values, kinds) => {
    const lines = values.map((value, at) => ({ kind: kinds[at]!, text: `    ${value},` }));
    // of a place where both differ, what was there comes first
    const all = [{ kind: "same", text: '  "list": [' }];
    let added: typeof all = [];
    for (
      const line of [...lines, { kind: "same", text: "    100" }, { kind: "same", text: "  ]" }]
    ) {
      if (line.kind === "added") added.push(line);
      else {
        if (line.kind === "same") all.push(...added), added = [];
        all.push(line);
      }
    }
    const textOf = (without: string) =>
      `{\n  "before": "secret",\n${
        all.filter(({ kind }) => kind !== without).map(({ text }) => text).join("\n")
      }\n}`;
    const isNear = all.map((_, at) =>
      all.slice(Math.max(0, at - 3), at + 4).some(({ kind }) => kind !== "same")
    );
    const expected = all.flatMap((line, at) => {
      if (isNear[at]) return [line];
      const isGap = isNear[at - 1] === true && isNear.indexOf(true, at) > 0;
      return isGap ? [{ kind: "gap", text: "…" }] : [];
    });
    assertEquals(settingsDiff(textOf("added"), textOf("removed"), ["list"]) as unknown, expected);
  }));
});

Deno.test("settingsDiff shows changed lines of the setting with those around them, and no others", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `   "r${at}": ${at}`).join(",\n");
  const before =
    `{\n "a": "secret",\n "routes": {\n  "x": {\n${lines}\n  } /* secret */\n },\n "z": "secret"\n}`;
  const diff = (...edits: [string, string][]) =>
    settingsDiff(
      before,
      edits.reduce((text, [from, to]) => text.replace(from, to), before),
      ["routes", "x"],
    );
  assertEquals(diff([`"r9": 9`, `"r9": 10`]).map(({ kind }) => kind), [
    ...["same", "same", "same", "removed", "added", "same", "same", "same"],
  ]);
  assertEquals(diff(), []);
  const near = diff([`"r0": 0`, `"r0": 1`]);
  assertEquals(near[0], { kind: "same", text: `  "x": {` });
  assert(!JSON.stringify(near).includes("secret"), JSON.stringify(near));
  const both = diff([`"r0": 0`, `"r0": 1`], [`"r19": 19`, `"r19": 1`]);
  assertEquals(both.filter(({ kind }) => kind === "gap").length, 1);
});

// those below share a gateway
const shared = sharedGateway(OPTIONS);

shared(
  "a price is changed by a form: preview, confirm, reload; comments stay, secrets are nowhere",
  async (gateway) => {
    await giveFile(gateway, FILE);
    const owner = await signedIn(gateway, OWNER);
    const shown = await preview(owner, "house/small", { "price-output": "55" });
    assertEquals(shown.status, 200);
    assertStringIncludes(words(shown.html), "Output: 40 → 55 credits per million tokens");
    assertStringIncludes(
      words(shown.html),
      `added: "prices": { "input": 10, "cached": 5, "output": 55 }`,
    );
    assertStringIncludes(shown.html, "agreed with finance");
    assert(!shown.html.includes(SECRET));
    assertEquals(await Deno.readTextFile(fileOf(gateway)), FILE, "nothing is written yet");

    const saved = await owner.post(`${PATH}/save`, shown.fields);
    assertEquals([saved.status, saved.headers.get("location")], [303, `${PATH}?done=route`]);
    assertEquals(
      await Deno.readTextFile(fileOf(gateway)),
      FILE.replace(`"output": 40`, `"output": 55`),
    );
    const { prices } = gateway.gateway.catalog.find("house/small")!;
    assertEquals(prices, { input: 10, cached: 5, output: 55 });
    assertStringIncludes(await (await owner.get(`${PATH}?done=route`)).text(), "10 / 5 / 55");

    const [row] = await gateway.gateway.database.all("select * from operation_log");
    assertEquals([row!.operation, row!.object_id, row!.outcome], [
      "route.write",
      "house/small",
      "done",
    ]);
    assertEquals(JSON.parse(String(row!.before)).prices.output, 40);
    assertEquals(JSON.parse(String(row!.after)).prices.output, 55);
    assert(!JSON.stringify(row).includes("sk-"));
    const names = (await Array.fromAsync(Deno.readDir(gateway.directory))).map(({ name }) => name);
    assertEquals(names.filter((name) => name.startsWith(".sluice")), [], "nothing is left over");

    const again = await owner.post(`${PATH}/save`, shown.fields); // the button, twice
    assertEquals(again.status, 400);
    assertStringIncludes(await again.text(), "has changed since the preview");
  },
);

shared(
  "targets are ordered, weighted, removed and added; a removed price is the default again",
  async (gateway) => {
    await giveFile(gateway, FILE);
    const owner = await signedIn(gateway, OWNER);
    const changed = async (changes: Record<string, string>) => {
      const { html, fields } = await preview(owner, "house/small", changes);
      const saved = await owner.post(`${PATH}/save`, fields);
      assertEquals(saved.status, 303, words(html));
      return gateway.gateway.catalog.find("house/small")!;
    };
    const swapped = await changed({ "place-0": "2", "place-1": "1" });
    assertEquals(swapped.targets.map(({ upstream }) => upstream), ["two", "one"]);
    const weighted = await changed({ "weight-0": "2.5", "weight-1": "1" });
    assertEquals(weighted.targets.map(({ weight }) => weight), [2.5, 1]);
    const added = await changed({ "upstream-2": "simulator", "model-2": "x", "model-0": "" });
    assertEquals(added.targets.map(({ upstream, model }) => [upstream, model]), [
      ["one", "m"],
      ["simulator", "x"],
    ]);
    const plain = await changed({
      "price-input": "",
      "price-cached": "",
      "price-output": "",
      context: "64000",
      displayName: "Small <b>",
      images: "inline",
    });
    assertEquals([plain.prices.input, plain.context, plain.displayName, plain.images], [
      100,
      64_000,
      "Small <b>",
      "inline",
    ]);
    const text = await Deno.readTextFile(fileOf(gateway));
    for (
      const comment of ["// our gateway", "// agreed with finance", "// the cheap one", "// last"]
    ) {
      assertStringIncludes(text, comment);
    }
    assertStringIncludes(text, "${KEY_TWO}");
  },
);

shared("of a list of prices, the form has the first row, and keeps the others", async (gateway) => {
  const later = `{ "from": "2999-01-01", "input": 7, "output": 8 }`;
  await giveFile(
    gateway,
    FILE.replace(
      /"prices": .*,/,
      `"prices": [${later}, { "input": 10, "cached": 5, "output": 40, "ownKey": 0.5 }],`,
    ),
  );
  const owner = await signedIn(gateway, OWNER);
  const { html, fields } = await preview(owner, "house/small", { "price-output": "55" });
  assertStringIncludes(words(html), "Output: 40 → 55 credits");
  assertEquals((await owner.post(`${PATH}/save`, fields)).status, 303, words(html));
  const { prices, ownKeyShare, rows } = gateway.gateway.catalog.find("house/small")!;
  assertEquals([prices, ownKeyShare], [{ input: 10, cached: 5, output: 55 }, 0.5]);
  assertEquals(rows?.map(({ when }) => when), [0, "2999-01-01"]);
  assertStringIncludes(await Deno.readTextFile(fileOf(gateway)), later);
});

shared(
  "a built-in route is changed: the section is added, and the line before it is not shown",
  async (gateway) => {
    await giveFile(gateway, `{\n  "port": 0,\n  ${TIERS},\n  "metricsToken": "${SECRET}"\n}\n`);
    const owner = await signedIn(gateway, OWNER);
    const { html, fields } = await preview(owner, "svc-k2", { minimum: "9" });
    assert(!html.includes(SECRET), html);
    assertStringIncludes(words(html), `added: "svc-k2": { "minimum": 9 }`);
    assertEquals((await owner.post(`${PATH}/save`, fields)).status, 303);
    assertEquals(gateway.gateway.catalog.find("svc-k2")!.minimum, 9);
    assertEquals(gateway.gateway.catalog.find("svc-k2")!.targets[0]!.upstream, "simulator");
    const text = await Deno.readTextFile(fileOf(gateway));
    assert(!text.includes("targets"), "what was not changed is not written");
    const none = await preview(owner, "svc-k2", {});
    assertStringIncludes(none.html, "The form has no changes.");
  },
);

shared(
  "what was typed stays: after an error, and on the way back from the preview",
  async (gateway) => {
    await giveFile(gateway, FILE);
    const owner = await signedIn(gateway, OWNER);
    const typed = {
      "price-output": "",
      displayName: "Typed <b>",
      "upstream-2": "two",
      "model-2": "third",
      "weight-1": "0.5",
    };
    const failed = await preview(owner, "house/small", typed);
    assertEquals(failed.status, 400);
    assertEquals({ ...failed.fields, ...typed }, failed.fields);
    const shown = await preview(owner, "house/small", { ...typed, "price-output": "41" });
    const back = await (await owner.post(`${PATH}/edit`, shown.fields)).text();
    assertEquals({ ...fieldsOf(back), ...typed, "price-output": "41" }, fieldsOf(back));
  },
);

shared(
  "one price of a route without any in the file: the others stay as the form shows them",
  async (gateway) => {
    await giveFile(gateway, `{\n  "port": 0,\n  ${TIERS}\n}\n`);
    const owner = await signedIn(gateway, OWNER);
    const { fields, html } = await preview(owner, "svc-k2", { "price-output": "444" });
    assertStringIncludes(words(html), `"prices": { "input": 100, "cached": 25, "output": 444 }`);
    assertEquals((await owner.post(`${PATH}/save`, fields)).status, 303);
  },
);

shared("invalid values are refused before anything is written", async (gateway) => {
  await giveFile(gateway, FILE);
  const owner = await signedIn(gateway, OWNER);
  const cases: readonly [Record<string, string>, RegExp][] = [
    [{ "price-output": "" }, /Set all prices/],
    [{ "price-output": "-1" }, /Price: Output must be a whole number/],
    [{ "price-output": "9999999999999999999" }, /whole number/],
    [{ context: "10", maxOutput: "20" }, /must not exceed the context/],
    [{ "upstream-0": "nowhere" }, /nowhere/],
    [{ "model-0": "", "model-1": "" }, /at least one target/],
    [{ "weight-0": "1e9" }, /Weight must be a number/],
    [{ images: "all" }, /images/],
    [{ route: "constructor" }, /not served/],
    [{ route: "" }, /Select a route/],
  ];
  for (const [changes, expected] of cases) {
    const { status, html } = await preview(owner, "house/small", changes);
    assertEquals(status, 400, JSON.stringify(changes));
    assertMatch(words(html), expected);
    assert(!html.includes(SECRET) && !/\.sluice\.jsonc\.[0-9a-f]/.test(html), words(html));
  }
  // somebody who skips the preview
  const good = await preview(owner, "house/small", { "price-output": "41" });
  const bad = await owner.post(`${PATH}/save`, { ...good.fields, context: "10", maxOutput: "20" });
  assertEquals(bad.status, 400);
  assertStringIncludes(await bad.text(), "Nothing was written");
  assertEquals(await Deno.readTextFile(fileOf(gateway)), FILE);
  assertEquals(gateway.gateway.catalog.find("house/small")!.prices.output, 40);
});

shared(
  "a file that was edited since the preview, or has errors, is not written over",
  async (gateway) => {
    await giveFile(gateway, FILE);
    const owner = await signedIn(gateway, OWNER);
    const shown = await preview(owner, "house/small", { "price-output": "55" });
    const edited = FILE.replace("// our gateway", "// our gateway, edited by hand");
    await Deno.writeTextFile(fileOf(gateway), edited);
    const saved = await owner.post(`${PATH}/save`, shown.fields);
    assertEquals(saved.status, 400);
    assertStringIncludes(await saved.text(), "has changed since the preview: nothing was written");
    assertEquals(await Deno.readTextFile(fileOf(gateway)), edited);
    const warned = await preview(owner, "house/small", { "price-output": "55" });
    assertStringIncludes(warned.html, "that the gateway does not use yet");

    await Deno.writeTextFile(fileOf(gateway), `${edited}}`);
    const broken = await owner.get(`${PATH}/edit?route=house%2Fsmall`);
    assertEquals(broken.status, 400);
    assertStringIncludes(await broken.text(), "has errors");
    const late = await owner.post(`${PATH}/preview`, { ...shown.fields, digest: "" });
    assertStringIncludes(await late.text(), "has errors");
    assertEquals(await Deno.readTextFile(fileOf(gateway)), `${edited}}`);
  },
);

shared("of two that confirm at once, one is refused", async (gateway) => {
  await giveFile(gateway, FILE);
  const owner = await signedIn(gateway, OWNER);
  const one = await preview(owner, "house/small", { "price-output": "55" });
  const other = await preview(owner, "house/small", { "price-output": "66" });
  const replies = await Promise.all(
    [one, other].map(({ fields }) => owner.post(`${PATH}/save`, fields)),
  );
  await Promise.all(replies.map(({ body }) => body?.cancel()));
  assertEquals(replies.map(({ status }) => status).toSorted(), [303, 400]);
});

shared("a file on one line: its secrets are not in the preview", async (gateway) => {
  const oneLine = FILE.replaceAll(/ *\/\/ .*/g, "").replaceAll(/\n */g, " ");
  assertEquals(oneLine.trim().split("\n").length, 1);
  await giveFile(gateway, oneLine);
  const owner = await signedIn(gateway, OWNER);
  const { html, fields } = await preview(owner, "house/small", { "price-output": "55" });
  assertStringIncludes(words(html), '"output": 55');
  assert(!html.includes(SECRET) && !html.includes("KEY_TWO"), words(html));
  assertEquals((await owner.post(`${PATH}/save`, fields)).status, 303);
});
