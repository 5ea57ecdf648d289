/** The gate: `.ci/run` starts it. Exit code 0 if all steps have passed. */

import { runSteps } from "./run_steps.ts";
import { GATE } from "./steps.ts";

Deno.exit(await runSteps(GATE) ? 0 : 1);
