/**
 * The proofs: what a release and a finished capability must pass. They take two and a half hours.
 *
 *   deno task proofs               all
 *   deno task proofs soak speed    some
 *   deno task proofs --rest        those that have not passed of this commit's files
 *   deno task proofs --list        what there is
 */

import { joinPath } from "../../src/ground/std/mod.ts";
import { canCompile, compileLibrary } from "../fake/c_library.ts";
import { commandStep, runCommand } from "./command_step.ts";
import { whyNoPostgres } from "../fake/postgres.ts";
import { Random, testSeed } from "../fake/random.ts";
import { newerPostgres } from "./newer_postgres.ts";
import { cacheDirectory, olderDeno } from "./older_deno.ts";
import type { Fault, Step } from "./outcome.ts";
import { Proven } from "./proven.ts";
import { runSteps, say } from "./run_steps.ts";
import { runSuite, suiteStep } from "./suite.ts";

const deno = Deno.execPath();
const HOUR_MS = 60 * 60_000;
const SUITE = { all: ["task", "test"], only: ["task", "test:only"] };
const clients = `${cacheDirectory()}/clients`;
const OTHER_HOUR = new URL("other_hour.c", import.meta.url);
/** When the tests begin at another time, one of these: in the first the year turns, the second is the morning of a leap day. */
const HOURS = ["2027-12-31T23:57:00Z", "2028-02-29T06:00:00Z"];
/** How long each kind of load goes on; the tasks themselves go on for longer. */
const SOAK_SECONDS = "300";

/** Tests that neither say what only SQLite understands, nor open a file, nor need its order of answers. */
const ON_POSTGRES = Object.entries({
  "doors/console": [
    "credits",
    "forwarded",
    "killed_forms",
    "link_secrecy",
    "models",
    "overview",
    "passkeys",
  ],
  "doors/http": ["scim"],
  "flow": [
    "attack_counting",
    "bound_credits",
    "budgets",
    "embeddings_money",
    "images",
    "key_pools",
    "metered_replies",
    "money",
    "outcomes",
    "plans",
    "reasons",
    "remaining_credits",
    "stream",
  ],
  "money/billing": ["billing", "free_credits", "grants"],
  "money/ledger": [
    "bound_credits",
    "budgets",
    "credits",
    "entries_but_charges",
    "lapsed_loans",
    "lend",
    "set_budget",
    "spending",
    "windows",
  ],
  "money/payments": [
    "any_order",
    "collect_released",
    "console",
    "operations",
    "payments",
    "secrets",
    "strangers",
    "tables_of_news",
    "teams",
    "webhook",
  ],
  "money/usage": ["day_totals", "usage_report", "views"],
  "operating/alerts": [
    "budget_alerts",
    "catalog_changes",
    "daily_audit",
    "delivery",
    "jobs",
    "reply_changes",
  ],
  "operating/operations": ["kill", "lookup", "outside"],
  "operating/provisioning": ["apply_groups", "provisioning"],
  "people/accounts": ["access", "authority", "group_grants", "sessions", "states", "tool_grants"],
  "people/sign_in": ["identities", "passkeys", "refresh", "told"],
  "requests/admission": [
    "attack_loans",
    "budget_beside_loan",
    "detached",
    "finished",
    "lent_budgets",
    "outage",
  ],
  "requests/relay": ["reply_bounds", "settles_first", "whole"],
}).flatMap(([folder, names]) => names.map((name) => `tests/${folder}/${name}_test.ts`));

/** Tests of gateways that share a server: the gate's is libSQL's. */
const SHARING = Object.entries({
  doors: ["database_away", "http/admin_attacks"],
  flow: [
    "budgets",
    "kept_items",
    "lent_budgets",
    "server_away",
    "shared_clock",
    "stopped_gateway",
    "team_budgets",
    "thief",
    "workers",
  ],
  "money/payments": ["any_order", "operations", "strangers"],
  "operating/alerts": ["delivery"],
}).flatMap(([folder, names]) => names.map((name) => `tests/${folder}/${name}_test.ts`));

/** Tests of what the gateway asks of a PostgreSQL, but for those with a standby. */
const ON_NEWER = Object.entries({
  "ground/database": [
    "copy_rows",
    "postgres",
    "postgres_connections",
    "postgres_outbox",
    "postgres_place",
  ],
  "money/ledger": [
    "admit_set",
    "audit_checks",
    "bound_credits",
    "corruptions_postgres",
    "late_charges",
    "lend",
    "model",
    "postgres",
    "row_locks",
    "settle_set",
    "windows",
  ],
  "money/payments": ["any_order"],
}).flatMap(([folder, names]) => names.map((name) => `tests/${folder}/${name}_test.ts`));

/** A proof that is a task of deno.json. */
function task(name: string, proves: string, args: readonly string[]): Step {
  return commandStep({ name, proves }, [deno, "task", ...args], { deadlineMs: 3 * HOUR_MS });
}

const PROOFS: readonly Step[] = [
  suiteStep({ name: "tests", proves: "all tests pass at their full size" }, {
    deno,
    all: ["task", "test:proofs"],
    only: ["task", "test:only"],
    options: { deadlineMs: 3 * HOUR_MS, env: { SLUICE_PROOFS: "1" } },
  }),
  {
    name: "deno-2.4",
    proves: "the gate's tests pass on the oldest version",
    run: async (workplace) => {
      const older = await olderDeno(workplace);
      if (older === undefined) return { faults: [], skipped: "no Deno 2.4 here" };
      const options = { env: older.env, deadlineMs: 2 * HOUR_MS };
      const suite = { deno: older.path, ...SUITE, hasLeakChecks: true, options };
      return await runSuite(workplace, "Deno 2.4", suite);
    },
  },
  {
    name: "hours",
    proves: "the gate's tests pass as the year turns, or on a leap day, by chance",
    run: async (workplace) => {
      if (!canCompile) return { faults: [], skipped: "no C compiler here" };
      const library = await compileLibrary(
        OTHER_HOUR,
        joinPath(workplace.directory, "other_hour.so"),
      );
      await Deno.chmod(workplace.directory, 0o711); // a server under another user loads it, too
      const hour = new Random(testSeed()).pick(HOURS);
      const seconds = Math.round((Date.parse(hour) - Date.now()) / 1_000);
      const env = { LD_PRELOAD: library, HOUR_OFFSET: `${seconds}` };
      return await runSuite(workplace, hour, {
        deno,
        ...SUITE,
        options: { env, deadlineMs: HOUR_MS },
      });
    },
  },
  {
    name: "postgres",
    proves: "tests of a database, or of gateways that share one, pass on PostgreSQL, too",
    run: async (workplace) => {
      const skipped = await whyNoPostgres();
      if (skipped !== undefined) return { faults: [], skipped };
      const faults: Fault[] = [];
      const unsteady: Fault[] = [];
      for (
        const [name, files] of [
          ["SLUICE_TEST_DATABASE", ON_POSTGRES],
          ["SLUICE_TEST_SERVER", SHARING],
        ] as const
      ) {
        const tested = await runSuite(workplace, `PostgreSQL, ${files.length} files`, {
          deno,
          all: ["task", "test:only", ...files],
          only: ["task", "test:only"],
          options: { env: { [name]: "postgres" }, deadlineMs: HOUR_MS },
        });
        faults.push(...tested.faults);
        unsteady.push(...tested.unsteady ?? []);
      }
      return { faults, unsteady };
    },
  },
  {
    name: "postgres-18",
    proves: "tests of the ledger pass on a PostgreSQL that is newer than the distribution's",
    run: async (workplace) => {
      const skipped = await whyNoPostgres();
      if (skipped !== undefined) return { faults: [], skipped };
      return await runSuite(workplace, "PostgreSQL 18", {
        deno,
        all: ["task", "test:only", ...ON_NEWER],
        only: ["task", "test:only"],
        options: {
          env: {
            SLUICE_TEST_DATABASE: "postgres",
            SLUICE_TEST_POSTGRES: await newerPostgres(workplace),
          },
          deadlineMs: HOUR_MS,
        },
      });
    },
  },
  task("soak", "under load and kills, each response is charged once and memory stays flat", [
    "soak",
    "--seconds",
    SOAK_SECONDS,
  ]),
  task("files", "after file calls that fail, no charge is lost and no file damaged", [
    "soak:files",
    "--seconds",
    SOAK_SECONDS,
    "--kinds",
    "EIO,ENOSPC,torn",
  ]),
  task(
    "histories",
    "kills, outages, clocks that are off, revoked keys and limits break no promise",
    [
      "soak:histories",
      "--seconds",
      SOAK_SECONDS,
    ],
  ),
  task("failover", "a primary that is killed under load loses no charge, and is replaced in 3 s", [
    "soak:histories",
    "--kind",
    "failover,loss",
    "--outages",
    "10",
    "--within",
    "3",
  ]),
  task("gateways", "eight gateways at a PostgreSQL break no promise, and wait in no circle", [
    "soak:histories",
    "--kind",
    "postgres",
    "--gateways",
    "8",
    "--seconds",
    SOAK_SECONDS,
  ]),
  task("connections", "hostile connections neither end the process nor hold up others", [
    "soak:connections",
    "--seconds",
    SOAK_SECONDS,
    "--megabytes",
    "512",
  ]),
  task("ends", "however a response ends, its charge lies between delivered and generated", [
    "soak:ends",
    "--runs",
    "100000",
  ]),
  task("growth", "nothing grows under load but the database", [
    "bench:growth",
    "--seconds",
    "300",
    "--rate",
    "100",
    "--keys",
    "100",
    "--streams",
    "100",
  ]),
  task("speed", "requests per second are within bounds of a thin proxy's", ["bench:guard"]),
  {
    name: "clients",
    proves: "Claude Code, Codex, the Agents SDK and the AI SDK work over each dialect",
    run: async (workplace) => {
      const env = {
        SLUICE_CLIENTS_CACHE: clients,
        CLAUDE_CODE: `${clients}/claude/node_modules/.bin/claude`,
        CODEX: `${clients}/codex/node_modules/.bin/codex`,
      };
      const rounds = [deno, "task", "clients", "--only", "claude-code,codex,openai-agents,ai-sdk"];
      const played = await runCommand(workplace, "clients", rounds, { env, deadlineMs: HOUR_MS });
      const files = ["claude_code", "claude_sign_in", "codex", "codex_refused", "codex_sign_in"]
        .map((name) => `tests/clients/${name}_test.ts`);
      const tested = await runSuite(workplace, "clients", {
        deno,
        all: ["task", "test:only", ...files],
        only: ["task", "test:only"],
        options: { env, deadlineMs: HOUR_MS },
      });
      return { ...tested, faults: [...played.faults, ...tested.faults] };
    },
  },
  task("mutations", "each listed fault is noticed by a test", ["mutate", "--workers", "3"]),
  task("steady", "no test fails by chance, quiet or busy", ["steady", "2"]),
];

if (import.meta.main) {
  const names = Deno.args.filter((arg) => arg !== "--rest" && arg !== "--list");
  const unknown = names.filter((name) => !PROOFS.some((proof) => proof.name === name));
  if (Deno.args.includes("--list")) {
    for (const { name, proves } of PROOFS) say(`${name.padEnd(12)} ${proves}`);
  } else if (unknown.length > 0) {
    say(
      `Unknown proof: ${unknown.join(", ")}. Available: ${
        PROOFS.map(({ name }) => name).join(", ")
      }.`,
    );
    Deno.exit(2);
  } else {
    const proven = await Proven.open();
    const isLeft = (name: string) => !Deno.args.includes("--rest") || !proven?.has(name);
    const asked = PROOFS.filter(({ name }) =>
      (names.length === 0 || names.includes(name)) && isLeft(name)
    );
    const haveAll = await runSteps(asked, { ended: (step) => proven?.ended(step) });
    const rest = PROOFS.filter(({ name }) => !proven?.has(name)).map(({ name }) => name);
    if (rest.length === 0) say("all proofs have passed of this commit's files");
    else if (proven !== undefined) say(`not passed yet of this commit's files: ${rest.join(", ")}`);
    Deno.exit(haveAll ? 0 : 1);
  }
}
