/**
 * Commands that are refused: whatever is wrong with one of the values that a command is given, it makes no database and
 * changes nothing, as it reads all of them first. Commands and options are those of the program itself.
 */

import { Command } from "commander";
import { addCommands } from "../../../src/doors/cli/commands.ts";
import { assert, assertEquals } from "../../assert.ts";
import { NO_GATEWAY } from "../../fake/command.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sluice } from "../../fake/shell.ts";
import { exists, tempDir } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

/** Commands that write nothing of the gateway's, or go on until they are ended. */
const APART = [
  "serve",
  "simulate",
  "completion",
  "doctor",
  "reload",
  "upstream test",
  "restore",
  "migrate",
]
  .concat(["auth login", "auth token", "auth logout", "auth status"]);
const COMMON = ["--config", "--data", "--json", "--create"];

/** Values that a command may take, by option or argument; words in capitals are made for each command. */
const VALUES: Readonly<Record<string, string>> = {
  "--about": "TEAM",
  "--account": "ada-NUMBER@example.com",
  "--amount": "1.00",
  "--at-once": "5",
  "--budget": "50",
  "--by": "model",
  "--count": "2",
  "--credits": "5",
  "--currency": "usd",
  "--domain": "example.com",
  "--email": "new-NUMBER@example.com",
  "--expires": "30d",
  "--group": "default",
  "--invite": "INVITE",
  "--keep": "1h",
  "--key": "KEY",
  "--keys": "keys.json",
  "--kind": "person",
  "--limit": "5",
  "--lot": "LOT",
  "--marks": "50,80",
  "--member": "ada-NUMBER@example.com",
  "--model": "svc-k2",
  "--models": "svc-k2",
  "--name": "Name NUMBER",
  "--note": "why",
  "--own-keys": "first",
  "--package": "starter",
  "--raise": "5",
  "--receiver": "pager",
  "--reference": "ref-NUMBER",
  "--reset": "monthly",
  "--role": "lead",
  "--scopes": "inference",
  "--since": "2026-01",
  "--state": "paid",
  "--tag": "a=b",
  "--team": "TEAM",
  "--tolerance": "5",
  "--top": "1",
  "--until": "7d",
  "--upstream": "gone",
  "--valid": "30d",
  "--zone": "Europe/Berlin",
  args: "",
  database: "new-api.db",
  email: "ada-NUMBER@example.com",
  file: "config.yaml",
  gateway: "gw_gone",
  id: "ID",
  name: "groq",
  program: "true",
  receiver: "pager",
  role: "operator",
  team: "TEAM",
};

/** Values that are wrong for most. */
const WRONG = [
  "",
  " ",
  "\u3164",
  "a\u202eb",
  "-1",
  "0x10",
  "4,99",
  "9".repeat(30),
  "x".repeat(400),
  "nobody@example.com",
  "none",
];

/** A command of the program, and what values it takes. */
interface Taken {
  readonly path: string;
  readonly options: readonly { readonly flag: string; readonly isMandatory: boolean }[];
  readonly args: readonly string[];
  readonly mayMake: boolean;
}

function commandsOf(command: Command, path: readonly string[] = []): Taken[] {
  const options = command.options
    .filter(({ long, required }) => required && !COMMON.includes(long ?? ""))
    .map(({ long, mandatory }) => ({ flag: long!, isMandatory: mandatory }));
  const args = command.registeredArguments.map((one) => one.name());
  const own = {
    path: path.join(" "),
    options,
    args,
    mayMake: command.options.some(({ long }) => long === "--create"),
  };
  return [
    ...(options.length + args.length === 0 || APART.includes(own.path) ? [] : [own]),
    ...command.commands.flatMap((one) => commandsOf(one, [...path, one.name()])),
  ];
}

const program = new Command("sluice");
addCommands(program, {} as Parameters<typeof addCommands>[1]);
const ALL = commandsOf(program);

/** A command line with one wrong value, the others as `fill` has them. */
function wrongLine(
  random: Random,
  { path, options, args }: Taken,
  fill: (text: string) => string,
): string[] {
  const values = [...options.map(({ flag }) => flag), ...args.filter((one) => one !== "args")];
  const wrong = random.pick(values);
  const valueOf = (name: string) => name === wrong ? random.pick(WRONG) : fill(VALUES[name]!);
  const given = options.filter(({ flag, isMandatory }) =>
    isMandatory || flag === wrong || random.next() < 0.5
  );
  return [
    ...path.split(" "),
    ...given.map(({ flag }) => `${flag}=${valueOf(flag)}`),
    ...(path.startsWith("import") ? ["--write"] : []),
    "--",
    ...args.filter((one) => one !== "args").map(valueOf),
  ];
}

async function writeSources(directory: string): Promise<void> {
  await Deno.writeTextFile(`${directory}/config.yaml`, "model_list: []\n");
  const keys = [{ token: "a".repeat(64), key_alias: "k", user_id: "u", models: [], spend: 0 }];
  await Deno.writeTextFile(`${directory}/keys.json`, JSON.stringify({ keys }));
}

Deno.test("refused: a value is known for each option and argument of the program", () => {
  const names = ALL.flatMap(({ options, args }) => [...options.map(({ flag }) => flag), ...args]);
  assertEquals(names.filter((name) => VALUES[name] === undefined), []);
  assertEquals(Object.keys(VALUES).filter((name) => !names.includes(name)), []);
});

/** Makes what a command may be about, and puts it into the words of a line. */
async function filled({ gateway }: TestGateway, number: number) {
  const { accounts, keys, members, sales, teams } = gateway;
  const account = await accounts.create({ email: `ada-${number}@example.com` });
  const team = await teams.create({ name: `Team ${number}`, pool: true });
  await members.add(team, account);
  const { id } = await keys.issue(account);
  const { lotId } = await sales.grant(account, { credits: 30 });
  const invite = await accounts.inviteCode(account);
  return (text: string) =>
    text.replace("NUMBER", String(number)).replace("TEAM", team.name).replace("LOT", lotId)
      .replace("INVITE", invite).replace(/^(ID|KEY)$/, id);
}

/** Lines of several steps, of which a later one is wrong. */
const LATE: readonly string[] = [
  "account update ID --name=Later --budget=abc",
  "account update ID --name=Later --raise=5 --until=never",
  "account update ID --budget=50 --raise=0x10 --until=7d",
  "key update ID --name=Later --budget=5 --zone=Nowhere",
  "key update ID --name=Later --reset=weekly --zone=UTC",
  "key update ID --budget=none --raise=5 --until=7d",
  "team update ID --name=Later --own-keys=last --marks=50,x",
  "team update ID --own-keys=last --budget=x",
];

Deno.test("refused: a command with a wrong value changes no row and no file", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using gateway = await startGateway({
    settings: {
      upstreams: { gone: { url: "http://127.0.0.1:9/v1", key: "x" } },
      alerts: {
        receivers: {
          pager: { url: "https://127.0.0.1:9/", kind: "slack", alerts: ["audit_failed"] },
        },
      },
    },
  });
  await using kept = keptOpen();
  const options = { directory: gateway.directory, openParts: kept.openParts };
  await writeSources(gateway.directory);
  let refusals = 0;
  const mustLeaveNothing = async (line: readonly string[]) => {
    const { result, left: { rows: { operation_log: _, ...rows }, files } } = await gateway.left(
      () => sluice(line, options),
    );
    if (result.code === 0) return result;
    refusals++;
    const what = `${JSON.stringify(line)}: ${result.err} (SLUICE_TEST_SEED=${seed})`;
    // what SQLite writes beside a file that it reads
    const named = Object.keys(files).filter((name) => !/-(?:shm|wal)$/.test(name));
    assertEquals({ rows, files: named }, { rows: {}, files: [] }, what);
    assert(!/ at .*:\d+:\d+/.test(result.err), what);
    return result;
  };
  for (const [number, line] of LATE.entries()) {
    await filled(gateway, number);
    const id = line.startsWith("account")
      ? `ada-${number}@example.com`
      : line.startsWith("team")
      ? `Team ${number}`
      : (await gateway.gateway.keys.list(
        await gateway.gateway.accounts.get(`ada-${number}@example.com`),
      ))[0]!.id;
    const words = line.split(" ").map((word) => word === "ID" ? id : word);
    assert((await mustLeaveNothing(words)).code !== 0, line);
  }
  for (let at = 0; at < sized(40, 500); at++) {
    const command = random.pick(ALL);
    await mustLeaveNothing(wrongLine(random, command, await filled(gateway, 100 + at)));
  }
  assert(refusals > sized(20, 200), String(refusals));
});

Deno.test("refused: a command with a wrong value makes no database", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, "{}");
  await writeSources(dir.path);
  const options = { directory: dir.path, env: NO_GATEWAY };
  const makers = ALL.filter(({ mayMake }) => mayMake);
  const lines = [
    ["account", "create", "--email=not an address"],
    ["account", "create", "--email=owner@localhost"],
    ["account", "create", "--email=ada@example.com", "--invite=unknown"],
    ["key", "create", "--account=ada@example.com"],
    ["team", "create", "--name=\u3164"],
    ["env", "--account=ada@example.com"],
    ["run", "--account=ada@example.com", "--", "true"],
    ["run", "--", ""],
    ...Array.from({ length: sized(8, 200) }, () => {
      const fill = (text: string) => text.replace("NUMBER", "1").replace("ada-1@", "owner@");
      return wrongLine(random, random.pick(makers), fill);
    }),
  ];
  for (const [at, line] of lines.entries()) {
    const [first = "", ...rest] = line;
    const nested = makers.some(({ path }) => path === first) ? [] : rest.splice(0, 1);
    const data = `${dir.path}/place${at}`;
    const all = [first, ...nested, "--data", data, "--create", ...rest];
    const { code, err } = await sluice(all, options);
    const what = `${JSON.stringify(line)}: ${err} (SLUICE_TEST_SEED=${seed})`;
    if (code !== 0) assertEquals(await exists(data), false, what);
    else assert(at >= 8, what);
  }
});
