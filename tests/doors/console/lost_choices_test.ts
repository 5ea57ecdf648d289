/** What a form lost while it was open never becomes a permission that it did not show. */

import fc from "fast-check";
import { FormFields } from "../../../src/doors/console/request.tsx";
import { AccountError, newKeyId } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "../../assert.ts";
import { formsOf, type OfferedField, type PageForm } from "../../fake/forms.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sluice } from "../../fake/shell.ts";
import { type PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const ROUTES = ["one", "two", "three"];
const settings = (gone: readonly string[] = []) => ({
  aliases: { "t*": "one", "o*": "three" }, // a name that is gone leads to another model
  routes: Object.fromEntries(
    [...ROUTES, "svc-k2", "svc-k2.6", "svc-k3"].map((id) => [
      id,
      ROUTES.includes(id)
        ? { targets: [{ upstream: "simulator", model: id }], enabled: !gone.includes(id) }
        : { enabled: !gone.includes(id) },
    ]),
  ),
});

/** What a key or a team allows; `undefined` for a limit that it does not have. */
interface Allowed {
  readonly models: readonly string[] | undefined;
  readonly expiresAtMs: number | undefined;
  readonly budget: number | undefined;
  readonly atOnce: number | undefined;
  /** Who may use a team's key; `undefined` for everyone of the team. */
  readonly member: string | undefined;
}

/** What is allowed now, by ID of the key or team. */
async function allowed({ gateway }: TestGateway): Promise<ReadonlyMap<string, Allowed>> {
  const { database, teams } = gateway;
  const rows = await database.all(
    `select keys.*, (select min(credits) from budgets where owner = 'key' and owner_id = keys.id) as budget from keys
      where revoked_at_ms is null`,
  );
  const known = (value: unknown) => value === null ? undefined : Number(value);
  const ofKeys = rows.map((row) =>
    [String(row.id), {
      models: row.models === null ? undefined : JSON.parse(String(row.models)),
      expiresAtMs: known(row.expires_at_ms),
      budget: known(row.budget),
      atOnce: known(row.at_once),
      member: row.team_id === null || row.member_id === null ? undefined : String(row.member_id),
      isTeams: row.team_id !== null,
    }] as const
  );
  const ofTeams = (await teams.list()).map(({ id, models }) =>
    [id, {
      models: models ?? undefined,
      expiresAtMs: undefined,
      budget: undefined,
      atOnce: undefined,
      member: undefined,
    }] as const
  );
  return new Map<string, Allowed>([...ofKeys, ...ofTeams]);
}

/** What of something allows more than each of others. */
function more(one: Allowed, others: readonly Allowed[]): string[] {
  const within: Readonly<Record<keyof Allowed, (other: Allowed) => boolean>> = {
    models: ({ models }) =>
      models === undefined || (one.models?.every((id) => models.includes(id)) ?? false),
    expiresAtMs: ({ expiresAtMs = Infinity }) =>
      (one.expiresAtMs ?? Infinity) <= expiresAtMs + 60_000,
    budget: ({ budget = Infinity }) => (one.budget ?? Infinity) <= budget,
    atOnce: ({ atOnce = Infinity }) => (one.atOnce ?? Infinity) <= atOnce,
    member: ({ member }) => member === undefined || one.member === member,
  };
  return Object.entries(within).filter(([, is]) => !others.some(is)).map(([name]) => name);
}

/** What somebody selects who wants little: one model, a week, five credits, three requests at once, themselves. */
function selected({ fields }: PageForm, random: Random): (readonly [string, string])[] {
  const boxes = fields.filter(({ name, kind }) => name === "models" && kind === "box");
  const box = boxes.length === 0
    ? undefined
    : random.pick(boxes.filter(({ value }) => ROUTES.includes(value)));
  const texts: Record<string, string> = {
    name: `n${random.integer(0, 1e9)}`,
    budget: "5",
    credits: "5",
    days: "7",
    at_once: "3",
  };
  const valueOf = ({ name, value, kind }: OfferedField) =>
    kind === "text" && value === "" ? texts[name] ?? "" : value;
  return fields.filter((field) => {
    if (field.kind === "box") return field === box;
    if (field.name === "allow") return field.value === "listed";
    if (field.name === "expires" && field.kind === "option") return field.value === "7";
    return field.isChosen;
  }).map((field) => [field.name, valueOf(field)] as const);
}

/** What the selected fields say is allowed. */
function shown(fields: readonly (readonly [string, string])[], nowMs: number): Allowed {
  const of = (name: string) => fields.find(([one]) => one === name)?.[1];
  const days = of("expires");
  return {
    models: of("allow") === "listed"
      ? fields.filter(([name]) => name === "models").map(([, value]) => value)
      : undefined,
    expiresAtMs: /^\d+$/.test(days ?? "") ? nowMs + Number(days) * 86_400_000 : undefined,
    budget: /^\d+$/.test(of("budget") ?? "") ? Number(of("budget")) : undefined,
    atOnce: /^\d+$/.test(of("at_once") ?? "") ? Number(of("at_once")) : undefined,
    member: of("member")?.startsWith("acc_") ? of("member") : undefined,
  };
}

async function send(
  browser: PlainBrowser,
  { url }: TestGateway,
  action: string,
  fields: Iterable<readonly [string, string]>,
) {
  const reply = await fetch(`${url}${action}`, {
    method: "POST",
    headers: { cookie: browser.cookie, "sec-fetch-site": "same-origin" },
    body: new URLSearchParams([...fields].map(([name, value]) => [name, value])),
    redirect: "manual",
  });
  await reply.body?.cancel();
  return reply.status;
}

/** Forms that give permissions: of keys and teams. What others give up is theirs. */
const GIVES = /\/(?:keys|teams)(?:\/[^/]+)?(?:\/keys)?(?:\/[^/]+\/update)?$/;

Deno.test("a field that was sent twice is read by no reader, whatever its values", () => {
  const names = fc.constantFrom("a", "b");
  const values = fc.constantFrom("", "1", "0", "all", "1.00", "x");
  const readers: Readonly<Record<string, (form: FormFields) => unknown>> = {
    text: (form) => form.text("a"),
    raw: (form) => form.raw("a"),
    sent: (form) => form.sent("a"),
    choice: (form) => form.choice("a", "a word", ["all", "x"]),
    count: (form) => form.count("a"),
    amount: (form) => form.amount("a", "A", { min: 0, max: 9 }),
    money: (form) => form.money("a", "A", "usd"),
  };
  fc.assert(
    fc.property(fc.array(fc.tuple(names, values), { maxLength: 4 }), (fields) => {
      const times = fields.filter(([name]) => name === "a").length;
      const form = new FormFields(new URLSearchParams(fields).toString());
      for (const read of Object.values(readers)) {
        if (times > 1) assertThrows(() => read(form), AccountError, "twice");
      }
      assertEquals(
        times > 1 || form.text("a") === (fields.find(([one]) => one === "a")?.[1] ?? ""),
        true,
      );
    }),
  );
});

Deno.test("a form whose choices went away while it was open gives no more than it showed", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway({ settings: settings() });
  const { accounts, keys, members, teams, teamKeys } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const bob = await accounts.create({ email: "bob@example.com" });
  const op = await accounts.create({ email: "op@example.com", role: "operator" });
  const team = await teams.create({
    name: "Platform",
    pool: true,
    models: ["one", "two", "three"],
  });
  await members.add(team, ada, "lead");
  await members.add(team, bob);
  await keys.issue(ada, { name: "laptop", models: ["one"] });
  await teamKeys.issue(team, bob, { name: "bobs", models: ["two"] });
  const people = [await signedIn(gateway, ada.email), await signedIn(gateway, op.email)];
  const pages = ["/console/keys", "/console/teams", `/console/teams/${team.id}`];
  let [sent, accepted] = [0, 0];
  for (const browser of people) {
    for (const path of pages) {
      const html = await (await browser.get(path)).text();
      const forms = formsOf(html).filter(({ action }) => GIVES.test(action));
      for (const form of forms) {
        const fields = selected(form, random);
        const limit = shown(fields, Date.now());
        const without = (at: number) => fields.toSpliced(at, 1);
        const withOther = (at: number, value: string) =>
          fields.with(at, [fields[at]![0], value] as const);
        // an empty text says itself that there is no limit
        const isText = (name: string) =>
          form.fields.some((one) => one.name === name && one.kind === "text");
        const cases = fields.flatMap(([name], at) =>
          ["csrf", "form"].includes(name) ? [] : [
            [`${name} left out`, without(at)] as const,
            [`${name} strange`, withOther(at, "gone")] as const,
            ...(isText(name) ? [] : [[`${name} blank`, withOther(at, "")] as const]),
            ...(name === "models"
              ? []
              : ["", "all", "never"].map((value) =>
                [`${name} twice`, fields.toSpliced(at, 0, [name, value])] as const
              )),
          ]
        );
        const worlds:
          readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>])[] = [
            [
              "models",
              () => gateway.reload(settings(limit.models)),
              () => gateway.reload(settings()),
            ],
            ["a member", () => members.remove(team, bob), () => members.add(team, bob)],
          ];
        /** Sends a form, and compares what it gave with what it showed. */
        const attempt = async (what: string, given: Iterable<readonly [string, string]>) => {
          const before = await allowed(gateway);
          // a form with an ID makes one thing
          const fresh = [...given].map(([name, value]) =>
            [
              name,
              name === "id" && value !== "" && value !== "gone" ? newKeyId() : value,
            ] as const
          );
          const status = await send(browser, gateway, form.action, fresh);
          sent++;
          assert(status < 500 && status !== 404, `${what}: ${status} (seed ${seed})`);
          if (status !== 400) accepted++;
          const shownNow = shown(fields, Date.now()); // a week from now: the walk may take long
          if (what.endsWith(" twice")) assertEquals(status, 400, `${what} (seed ${seed})`);
          for (const [id, one] of await allowed(gateway)) {
            const was = before.get(id);
            const given = more(one, was === undefined ? [shownNow] : [was, shownNow]);
            const about = JSON.stringify([shownNow, was, one]);
            assertEquals(given, [], `${form.action}, ${what}: ${about} (seed ${seed})`);
          }
        };
        for (const [what, take, giveBack] of worlds) {
          await take();
          await attempt(`${what} went`, fields);
          await giveBack();
        }
        for (const [what, one] of random.some(cases, sized(7, Infinity))) {
          await attempt(what, one);
        }
        await attempt("nothing went", fields);
        assert(accepted > 0, form.action);
      }
    }
  }
  assert(sent > 50 && accepted > 5, `${sent} sent, ${accepted} accepted`);
  assertEquals((await teams.get(team.id)).models === null, false);
});

Deno.test("an empty list of models, which allows none, is shown as none wherever all is shown as all", async () => {
  await using gateway = await startGateway();
  const { keys, owner, teams } = gateway.gateway;
  const none = await keys.issue(owner, { name: "locked", models: [] });
  const team = await teams.create({ name: "Locked", pool: true, models: [] });
  const browser = await signedIn(gateway, owner.email);
  const pageAt = async (path: string) => await (await browser.get(path)).text();
  const rowOf = async (path: string, id: string) => {
    const page = await pageAt(path);
    const row = page.split("<tr").find((one) => one.includes(id)) ?? page;
    return row.split("<form")[0]!.replace(/<[^>]*>/g, " ");
  };
  const shown = {
    "keys' page": await rowOf("/console/keys", none.id),
    "teams' page": await rowOf("/console/teams", team.id),
    "team's page": /Models:.*?\./s.exec(await pageAt(`/console/teams/${team.id}`))?.[0],
  };
  for (const [where, text] of Object.entries(shown)) assertMatch(text ?? "", /\bnone\b/, where);
  for (const args of [["key", "list"], ["key", "update", none.id], ["team", "list"]]) {
    const { out } = await sluice(args, { directory: gateway.directory });
    assertMatch(out, /[Ll]ocked.* none /, args.join(" "));
  }
});
