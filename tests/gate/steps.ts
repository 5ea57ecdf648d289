import { commandStep, runCommand } from "./command_step.ts";
import { olderDeno } from "./older_deno.ts";
import type { Step } from "./outcome.ts";
import { runSuite, suiteStep } from "./suite.ts";

const deno = Deno.execPath();
/** Two cores have the tests done in a third of it; a machine that is busy takes three times as long. */
const TESTS_DEADLINE_MS = 60 * 60_000;
const EXECUTABLE = "dist/sluice";

/** What runs on Deno 2.4 in the gate: the database, the ledger, a request's way and commands. */
const SMOKE = [
  "tests/ground/database/database_test.ts",
  "tests/ground/database/durability_test.ts",
  "tests/ground/database/outbox_test.ts",
  "tests/ground/files/lock_file_test.ts",
  "tests/ground/database/whose_file_test.ts",
  "tests/money/ledger/budgets_test.ts",
  "tests/money/ledger/windows_test.ts",
  "tests/flow/money_test.ts",
  "tests/flow/stream_test.ts",
  "tests/flow/failover_test.ts",
  "tests/doors/cli/operating_test.ts",
  "tests/doors/http/sockets_test.ts",
  "tests/doors/http/waiting_door_test.ts",
];

/** The gate: what every change must pass. */
export const GATE: readonly Step[] = [
  commandStep({ name: "format", proves: "the code is formatted" }, [deno, "fmt", "--check"]),
  commandStep({ name: "lint", proves: "the linter finds nothing" }, [deno, "lint"]),
  commandStep({ name: "types", proves: "the types agree" }, [deno, "task", "check"]),
  commandStep({ name: "examples", proves: "examples in comments run" }, [deno, "task", "docs"]),
  suiteStep({ name: "tests", proves: "the README's test command passes" }, {
    deno,
    all: ["task", "test"],
    only: ["task", "test:only"],
    options: { deadlineMs: TESTS_DEADLINE_MS },
  }),
  {
    name: "Deno 2.4",
    proves: "database, ledger, requests and commands work on the oldest version",
    run: async (workplace) => {
      const older = await olderDeno(workplace);
      if (older === undefined) return { faults: [], skipped: "no Deno 2.4 here" };
      return await runSuite(workplace, "Deno 2.4", {
        deno: older.path,
        all: ["task", "test:only", "--parallel", ...SMOKE],
        only: ["task", "test:only"],
        hasLeakChecks: true,
        options: { env: { ...older.env, DENO_JOBS: "3" } },
      });
    },
  },
  {
    name: "executable",
    proves: "a compiled one starts, answers, backs up, restores and stops in an empty directory",
    run: async (workplace) => {
      const older = await olderDeno(workplace);
      const compile = [older?.path ?? deno, "task", "compile"];
      const compiled = await runCommand(workplace, "compile", compile, { env: older?.env ?? {} });
      if (compiled.faults.length > 0) return compiled;
      return await runCommand(workplace, "binary", [".ci/binary", EXECUTABLE]);
    },
  },
];
