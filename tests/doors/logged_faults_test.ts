/** What the log has of a request that fails, whichever door it came through: a fault of the gateway whole, a refusal by its reason. */

import { DatabaseError } from "../../src/ground/database/mod.ts";
import { OAUTH } from "../../src/doors/oauth/oauth_path.ts";
import { SCIM_BASE } from "../../src/doors/http/scim_path.ts";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { guardedDatabase } from "../fake/guarded_database.ts";
import { signedIn } from "../fake/visitor.ts";

const SAID = "what nobody but an operator reads";
const FAULTS = {
  bug: new TypeError(SAID),
  away: new DatabaseError("SLUICE_SERVER", SAID),
} as const;

/** What a door replies to each fault, and how it logs it; and what it replies to a request that is wrong itself. */
interface Door {
  readonly ask: () => Promise<Response>;
  readonly bug: readonly [status: number, level: string];
  readonly away: readonly [status: number, level: string];
  readonly wrong: () => Promise<Response>;
}

Deno.test("a fault is logged once and whole, told to nobody, and a refusal is no error, at every door", async () => {
  let failing: Error | undefined;
  await using gateway = await startGateway({
    settings: {
      signIn: {
        oidc: [{ name: "company", issuer: "https://login.example.com", client: "sluice" }],
      },
    },
    wrapDatabase: (database) =>
      guardedDatabase(database, () => {
        if (failing !== undefined) throw failing;
      }),
  });
  const { keys, owner } = gateway.gateway;
  const scimKey = (await keys.issue(owner, { scopes: ["scim"] })).secret;
  const browser = await signedIn(gateway, owner.email);
  const get = (path: string, key: string) =>
    fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const send = (path: string, fields: Record<string, string>) =>
    fetch(`${gateway.url}${path}`, { method: "POST", body: new URLSearchParams(fields) });
  const doors: Readonly<Record<string, Door>> = {
    api: {
      ask: () => get("/user/credits", gateway.key),
      bug: [500, "error"],
      away: [503, "error"],
      wrong: () => get("/user/credits", "none"),
    },
    admin: {
      ask: () => get("/admin/v1/accounts", gateway.key),
      bug: [500, "error"],
      away: [503, "error"],
      wrong: () => get("/admin/v1/accounts?limit=x", gateway.key),
    },
    scim: {
      ask: () => get(`${SCIM_BASE}/Users`, scimKey),
      bug: [500, "error"],
      away: [503, "error"],
      wrong: () => get(`${SCIM_BASE}/Users?filter=x`, scimKey),
    },
    console: {
      ask: () => browser.get("/console/keys"),
      bug: [500, "error"],
      away: [503, "warn"],
      wrong: () => browser.get("/console/requests/none"),
    },
    oauth: {
      ask: () => send(OAUTH.device, { client_id: "tool" }),
      bug: [500, "error"],
      away: [503, ""],
      wrong: () => send(OAUTH.token, { grant_type: "none" }),
    },
  };
  const logged = async (ask: () => Promise<Response>) => {
    const before = gateway.log().length;
    const reply = await ask();
    const text = await reply.text();
    const lines = gateway.log().slice(before).split("\n").filter((line) => line !== "");
    return { reply, text, lines: lines.map((line) => JSON.parse(line)) };
  };
  for (const [name, door] of Object.entries(doors)) {
    for (const [kind, fault] of Object.entries(FAULTS)) {
      const [status, level] = door[kind as "bug" | "away"];
      failing = fault;
      const { reply, text, lines } = await logged(door.ask);
      failing = undefined;
      const what = `${name}, ${kind}: ${JSON.stringify(lines)}`;
      assertEquals([what, reply.status], [what, status]);
      assert(!text.includes(SAID), what);
      const about = lines.filter((line) => JSON.stringify(line).includes(SAID));
      assertEquals(about.map((line) => line.level), level === "" ? [] : [level], what);
      if (level === "error") assertMatch(about[0].error, /Error: .*\n +at /, what);
    }
    const { reply, lines } = await logged(door.wrong);
    assert(reply.status >= 400 && reply.status < 500, `${name}: ${reply.status}`);
    const bad = lines.filter(({ level }) => level === "error" || level === "warn");
    assertEquals([name, bad], [name, []]);
  }
});
