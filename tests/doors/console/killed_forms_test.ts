/** A gateway that dies at any call of a form to the database has done all of the form's work, or nothing. */

import { assert, assertEquals } from "../../assert.ts";
import { failingDatabase, type Fault } from "../../fake/failing_database.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const PASSWORD = "a password of ada's";

/** A form: what it needs, and then how it is sent and what is done once it has worked. */
type Form = (gateway: TestGateway, email: string) => Promise<{
  readonly send: () => Promise<Response>;
  readonly done: () => Promise<readonly boolean[]>;
}>;

/** Forms of somebody who has another session and an unused link. */
const ofSession = (
  path: string,
  fields: Record<string, string>,
  done: (gateway: TestGateway, email: string) => Promise<readonly boolean[]>,
): Form =>
async (gateway, email) => {
  const { accounts, sessions } = gateway.gateway;
  const account = await accounts.create({ email });
  const browser = await signedIn(gateway, email);
  const other = await sessions.begin(account);
  await browser.token("/console/account");
  await sessions.makeLink(account);
  return {
    send: () => browser.post(path, fields, { from: "/console/account" }),
    done: async () => [
      await sessions.find(other) === undefined,
      (await gateway.gateway.database.all("select * from sign_in_links")).length === 0,
      ...await done(gateway, email),
    ],
  };
};

async function hasPassword({ gateway }: TestGateway, email: string): Promise<boolean> {
  const { accounts, passwords } = gateway;
  return await passwords.matches(await accounts.find(email), PASSWORD);
}

async function isLogged({ gateway }: TestGateway, email: string, operation: string) {
  const sql = "select 1 from operation_log where operation = ? and object_id = ?";
  const { id = "" } = await gateway.accounts.find(email) ?? {};
  return await gateway.database.one(sql, [operation, id]) !== undefined;
}

const FORMS: Readonly<Record<string, Form>> = {
  password: ofSession(
    "/console/account/password",
    { password: PASSWORD },
    async (gateway, email) => [
      await hasPassword(gateway, email),
      await isLogged(gateway, email, "account.password"),
    ],
  ),
  "sign-out everywhere": ofSession(
    "/console/account/sign-out-everywhere",
    {},
    async (gateway, email) => [await isLogged(gateway, email, "account.sign_out_everywhere")],
  ),
  register: (gateway, email) =>
    Promise.resolve({
      send: () =>
        new PlainBrowser(gateway.url).post("/console/register", {
          email,
          name: "",
          code: "",
          password: PASSWORD,
        }),
      async done() {
        return [
          await gateway.gateway.accounts.find(email) !== undefined,
          await hasPassword(gateway, email),
          await isLogged(gateway, email, "account.register"),
        ];
      },
    }),
};

const FAULTS: readonly Fault[] = ["before", "after"];

// Proves P13.
for (const fault of sized([new Random(testSeed()).pick(FAULTS)], FAULTS)) {
  Deno.test(`a form that dies ${fault} any call to the database is done whole, or not at all`, async () => {
    let control: ReturnType<typeof failingDatabase> | undefined;
    let now = Date.now();
    await using gateway = await startGateway({
      lendFrom: 1e9,
      now: () => now,
      wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
      settings: { registration: "open" },
    });
    let number = 0;
    for (const [name, form] of Object.entries(FORMS)) {
      for (let at = 1;; at++) {
        await gateway.gateway.database.batch([{ sql: "delete from sign_in_links", args: [] }]);
        const email = `ada${++number}@example.com`;
        now += 3_600_000; // registrations of an address are bounded by the hour
        const { send, done } = await form(gateway, email);
        control!.killAt(at, fault);
        const reply = await send();
        await reply.body?.cancel();
        control!.mend();
        assert(reply.status !== 400, `${name}, ${fault} call ${at}: no mistake of the visitor's`);
        const all = await done();
        assertEquals(new Set(all).size, 1, `${name}, ${fault} call ${at}: ${all}`);
        if (reply.status === 303) {
          assert(all[0], name);
          break;
        }
      }
    }
  });
}
