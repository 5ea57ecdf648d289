/** Names and notes that would show something else than they are, in a terminal or on a page. */

import { AccountError } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { NEW_KEY, PlainBrowser, signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const WHY = "must not contain control, bidirectional or zero-width characters";

/** By what they are called: code points, first and last. */
const REFUSED: Readonly<Record<string, readonly [first: number, last: number]>> = {
  "C0 controls": [0x00, 0x1f],
  "delete and C1 controls": [0x7f, 0x9f],
  "the Arabic letter mark": [0x061c, 0x061c],
  "the zero-width space": [0x200b, 0x200b],
  "direction marks": [0x200e, 0x200f],
  "line and paragraph separators": [0x2028, 0x2029],
  "embeddings and overrides": [0x202a, 0x202e],
  "the word joiner": [0x2060, 0x2060],
  "isolates": [0x2066, 0x2069],
  "the byte order mark": [0xfeff, 0xfeff],
};

/** Joiners and non-joiners stand inside of words, where scripts and emoji need them. */
const MISPLACED = ["\u200dadmin", "admin\u200c", "Ada \u200d Lovelace", "\u200c", "\u200d\u200d"];

const ALLOWED = [
  "",
  "Ada Lovelace",
  "Ünïcödé Ñame 李小龍",
  "مریم میرزاخانی",
  "می\u200cخواهم", // Persian, with a non-joiner
  "ශ්\u200dරී ලංකා", // Sinhala, with a joiner
  "family 👨\u200d👩\u200d👧 laptop",
  "❤️ heart", // a variation selector has a width of its own
  "O'Neil & Söhne <x@y>",
];

const bad = Object.values(REFUSED).flatMap(([first, last]) =>
  Array.from({ length: last - first + 1 }, (_, at) => `ad${String.fromCodePoint(first + at)}min`)
).concat(MISPLACED);

/** A text with what cannot be seen in it spelt out. */
const spelt = (text: string) =>
  text.replace(/[^ -~]/g, (one) => `<U+${one.charCodeAt(0).toString(16).padStart(4, "0")}>`);

/** Every way by which a name or a note gets into the database, but for forms and commands. */
const WAYS: Readonly<Record<string, (gateway: TestGateway, text: string) => Promise<unknown>>> = {
  "Accounts.create": ({ gateway }, name) => gateway.accounts.create({ email: fresh(), name }),
  "Registration.register": ({ gateway }, name) =>
    gateway.registration.register({ email: fresh(), name }),
  "Keys.issue": ({ gateway }, name) => gateway.keys.issue(gateway.owner, { name }),
  "Sales.grant": ({ gateway }, note) => gateway.sales.grant(gateway.owner, { credits: 1, note }),
  "Sales.sell": ({ gateway: { sales, owner } }, note) =>
    sales.sell(owner, sales.package("starter"), { paid: false, note }),
  "Sales.grant, reference": ({ gateway }, reference) =>
    gateway.sales.grant(gateway.owner, { credits: 1, reference: reference || "R" }),
  "Sales.takeBack": async ({ gateway: { sales, owner } }, note) => {
    const { lotId } = await sales.grant(owner, { credits: 1 });
    return await sales.takeBack(owner, { lotId, note: note || "why" });
  },
};

let made = 0;
const fresh = () => `fresh${made++}@example.com`;

Deno.test("every way refuses controls, directions and zero widths; every script and emoji passes", async (t) => {
  await using gateway = await startGateway();
  for (const [way, take] of Object.entries(WAYS)) {
    await t.step(way, async () => {
      const taken: string[] = [];
      for (const text of bad) {
        try {
          await take(gateway, text);
          taken.push(spelt(text));
        } catch (error) {
          assert(error instanceof AccountError, String(error));
          assertStringIncludes(error.message, WHY, spelt(text));
        }
      }
      assertEquals(taken, []);
      for (const text of ALLOWED) await take(gateway, text);
    });
  }
  // an email address holds none of them
  for (const text of bad) {
    const email = `${text}@example.com`;
    await assertRejects(() => gateway.gateway.accounts.create({ email }), AccountError);
  }
});

Deno.test("forms of the console refuse such names and notes, and say why", async () => {
  await using gateway = await startGateway({ settings: { registration: "open" } });
  const { database, owner } = gateway.gateway;
  const operator = await signedIn(gateway, OWNER);
  const account = `/console/operator/accounts/${owner.id}`;
  const [accounts, keys, detail] = ["/console/operator/accounts", "/console/keys", account]
    .map((from) => ({ from }));
  const count = async () =>
    await database.all(
      `select (select count(*) from accounts) as accounts, (select count(*) from keys) as keys,
        (select count(*) from lots) as lots`,
    );
  const before = await count();
  const wrong: string[] = [];
  for (const text of ["ad\u202emin", "ad\u2066min", "ad\u200bmin", "ad\u001bmin", "ad\ufeffmin"]) {
    const forms: Readonly<Record<string, () => Promise<Response>>> = {
      "register": () =>
        new PlainBrowser(gateway.url).post("/console/register", {
          email: fresh(),
          name: text,
          password: "a long enough password",
        }),
      "keys": () => operator.post("/console/keys", { ...NEW_KEY, name: text }, keys),
      "accounts": () =>
        operator.post("/console/operator/accounts", { email: fresh(), name: text }, accounts),
      "grant": () =>
        operator.post(
          `${account}/grant`,
          { form: fresh(), credits: "5", days: "", note: text },
          detail,
        ),
    };
    for (const [form, send] of Object.entries(forms)) {
      const reply = await send();
      const page = reply.status === 303 ? "" : await reply.text();
      if (reply.status !== 400 || !page.includes(WHY)) {
        wrong.push(`${form}: ${spelt(text)}: ${reply.status}`);
      }
      assert(!/role="status">[^<]*[\u202e\u2066\u200b\ufeff]/.test(page), form);
    }
  }
  assertEquals(wrong, []);
  assertEquals(await count(), before);
});

Deno.test("commands refuse such names and notes, and say why", async () => {
  await using dir = await tempDir();
  const options = { directory: dir.path };
  const name = "ad\u202emin";
  const to = ["--account", "ada@example.com"];
  const run = (...args: string[]) => sluice(args, options);
  assertEquals((await run("account", "create", "--email", "ada@example.com")).code, 0);
  const wrong: string[] = [];
  for (
    const args of [
      ["account", "create", "--email", "bob@example.com", "--name", name],
      ["key", "create", ...to, "--name", name],
      ["credits", "grant", ...to, "--credits", "5", "--note", name],
      ["credits", "grant", ...to, "--package", "starter", "--note", name],
    ]
  ) {
    const { code, out, err } = await run(...args);
    if (code === 0 || !err.includes(WHY)) wrong.push(`${args.join(" ")}: ${code}`);
    assert(!(out + err).includes("\u202e"), "said without the character itself");
  }
  assertEquals(wrong.map(spelt), []);
});

Deno.test("names that are in a database already are shown with such characters escaped", async () => {
  const name = "evil\u202e\u2066\u200b\u001b[31m\u009bname";
  const raw = [...name].filter((one) => !/[ -~]/.test(one));
  const isSpoofed = (text: string) => raw.some((one) => text.includes(one));
  await using gateway = await startGateway();
  const { database, accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com", name: "plain" });
  await keys.issue(ada, { name: "plain" });
  await sales.grant(ada, { credits: 100, note: "plain" });
  const { secret } = await keys.issue(ada, { name: "other" });
  await (await gateway.chat("Hi", {}, { key: secret })).body?.cancel();
  await database.batch([
    { sql: "update accounts set name = ? where id = ?", args: [name, ada.id] },
    { sql: "update keys set name = ? where account_id = ?", args: [name, ada.id] },
    { sql: "update lots set note = ? where account_id = ?", args: [name, ada.id] },
  ]);
  const [user, operator] = [await signedIn(gateway, ada.email), await signedIn(gateway, OWNER)];
  const pages: [PlainBrowser, string][] = [
    ...["", "keys", "credits", "account", "requests", "usage?by=key", "usage.csv?by=key"]
      .map((path): [PlainBrowser, string] => [user, `/console/${path}`]),
    [operator, "/console/operator/accounts"],
    [operator, "/console/operator/accounts?q=evil"],
    [operator, `/console/operator/accounts/${ada.id}`],
    [operator, "/console/operator/invites"],
  ];
  const spoofed: string[] = [];
  for (const [browser, path] of pages) {
    const reply = await browser.get(path);
    assertEquals(reply.status, 200, path);
    if (isSpoofed(await reply.text())) spoofed.push(path);
  }
  for (
    const args of [
      ["account", "list"],
      ["account", "show", ada.email],
      ["key", "list", "--account", ada.email],
      ["credits", "show", "--account", ada.email],
    ]
  ) {
    for (const json of [[], ["--json"]]) {
      const { code, out, err } = await sluice(
        [...args, ...json, "--config", `${gateway.directory}/sluice.jsonc`],
        { directory: gateway.directory },
      );
      assertEquals([code, err], [0, ""]);
      assertStringIncludes(out, "evil");
      if (isSpoofed(out)) spoofed.push([...args, ...json].join(" "));
    }
  }
  assertEquals(spoofed, []);
});
