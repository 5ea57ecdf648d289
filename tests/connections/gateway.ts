import { openStore } from "../../src/assemble/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { PROGRAM, type RunningCommand, startCommand } from "../fake/command.ts";
import { WIDE_TIERS } from "../fake/gateway.ts";
import { tempDir } from "../fake/temp.ts";
import { type MemoryGroup, memoryGroup } from "./memory.ts";
import type { Target } from "./steps.ts";

/** The real program, in a memory of its own. */
export interface AttackedGateway extends AsyncDisposable {
  readonly url: string;
  readonly target: Target;
  readonly victimKey: string;
  readonly process: RunningCommand;
  /** Undefined where the system does not let this user bound memory. */
  readonly group: MemoryGroup | undefined;
  readonly ended: () => Deno.CommandStatus | undefined;
  /** Lines of its log of a level. */
  readonly logged: (level: "error" | "warn") => string[];
}

/** How a run's gateway departs from the defaults. */
export interface AttackedOptions {
  readonly megabytes: number;
  /** The Deno that runs it. */
  readonly deno: string;
  readonly workers: number;
  /** Whether limits are the defaults: otherwise they are those of a small machine. */
  readonly isDefault: boolean;
}

const MEGABYTE = 1_048_576;
const ATTACKERS = 3;

const ROUTE = {
  context: 2_000_000,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
};
const ROUTES = {
  small: { ...ROUTE, targets: [{ upstream: "simulator", model: "small" }], maxOutput: 100 },
  long: { ...ROUTE, targets: [{ upstream: "simulator", model: "long" }], maxOutput: 64_000 },
};

/** Starts one. Disposing kills it. */
export async function startAttacked(options: AttackedOptions): Promise<AttackedGateway> {
  await using started = new AsyncDisposableStack();
  const directory = started.use(await tempDir()).path;
  const { victim, ...keys } = await makeAccounts(directory);
  // of the machine that the memory is a part of: what a body may take must fit in it several times
  const small = { bodyBytes: 16 * MEGABYTE, largeBodiesBytes: 64 * MEGABYTE };
  const settings = {
    port: 0,
    tiers: WIDE_TIERS,
    log: "json",
    workers: options.workers,
    routes: ROUTES,
    ...(options.isDefault ? {} : { limits: small }),
  };
  await Deno.writeTextFile(`${directory}/sluice.jsonc`, JSON.stringify(settings));
  const group = await memoryGroup(options.megabytes * MEGABYTE);
  if (group !== undefined) started.defer(() => group.remove());
  const programArgs = group === undefined ? PROGRAM : [
    "-c",
    'echo $$ > "$0"; exec "$@"',
    group.processesFile,
    options.deno,
    ...PROGRAM,
  ];
  const program = group === undefined ? options.deno : "sh";
  const process = started.use(startCommand([], { directory, program, programArgs }));
  let status: Deno.CommandStatus | undefined;
  process.status.then((one) => status = one);
  const [, url = ""] = await process.waitFor(/listening on (http:\S+)/);
  const owned = started.move();
  const { host, port, origin } = new URL(url);
  return {
    url,
    target: { host, port: Number(port), origin, keys },
    victimKey: victim,
    process,
    group,
    ended: () => status,
    logged: (level) =>
      `${process.out()}\n${process.err()}`.split("\n")
        .filter((line) => line.includes(`"level":"${level}"`)),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Accounts in the database that the gateway will open: a victim, attackers with credits and one without. */
async function makeAccounts(directory: string) {
  const config = await loadConfig({ env: {}, directory });
  await using parts = await openStore(config);
  const make = async (name: string, credits: number) => {
    const account = await parts.accounts.create({ email: `${name}@example.com` });
    if (credits > 0) await parts.sales.grant(account, { credits });
    return (await parts.keys.issue(account, {})).secret;
  };
  const victim = await make("victim", 1e9);
  const valid: string[] = [];
  for (let at = 0; at < ATTACKERS; at++) valid.push(await make(`attacker${at}`, 1e9));
  const poor = await make("poor", 0);
  return { victim, valid, poor, invalid: `${poor.slice(0, -4)}zzzz` };
}
