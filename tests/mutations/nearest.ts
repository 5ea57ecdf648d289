import { dirname } from "../../src/ground/std/mod.ts";
import type { TestRun } from "./mutation.ts";

/** Tests of the whole gateway that are about a room, tried after the room's own. */
const WHOLE: Readonly<Record<string, string>> = {
  accounts: "doors/console/teams_test.ts doors/http/admin_client_test.ts flow/team_secrecy_test.ts",
  admission: "flow/money_test.ts flow/budgets_test.ts flow/open_ended_test.ts",
  alerts: "flow/health_states_test.ts",
  catalog: "flow/plans_test.ts flow/extras_test.ts",
  console: "doors/console/pages_test.ts",
  http: "flow/abuse_test.ts flow/arrivals_test.ts flow/paths_test.ts flow/attack_sockets_test.ts",
  ledger: "money/billing/grants_test.ts flow/money_test.ts flow/budgets_test.ts",
  operations: "doors/http/admin_client_test.ts money/payments/operations_test.ts",
  relay: "flow/money_test.ts flow/leaving_test.ts flow/stream_test.ts flow/outcomes_test.ts",
  upstreams: "flow/failover_test.ts flow/faults_test.ts flow/key_pools_test.ts",
};

/** Imports of tests, by file. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** What the tests and the sources of a repository import, from its root. */
export async function readImports(
  files: readonly string[],
  read: (file: string) => Promise<string>,
): Promise<Imports> {
  const all = new Map<string, readonly string[]>();
  for (const file of files) {
    if (!/^(src|tests)\/.*\.tsx?$/.test(file)) continue;
    const found = (await read(file)).matchAll(/^(?:import|export)[^;]*?from "(\.[^"]+)";/gm);
    const base = new URL(file, "file:///");
    all.set(file, [...found].map(([, target]) => new URL(target!, base).pathname.slice(1)));
  }
  return all;
}

/**
 * The tests to run for a source file, nearest first: those that import it, then those of its room that import what does, then those of the
 * whole gateway that are about the room.
 *
 * @param most Files of tests, at most.
 */
export function nearestTests(file: string, imports: Imports, most: number): TestRun[] {
  const room = file.split("/")[2]!;
  const mirror = dirname(file).replace(/^src/, "tests");
  const home = `tests/${file.split("/").slice(1, 3).join("/")}/`;
  const distance = importersOf(file, imports);
  const whole = importersOf("src/assemble/mod.ts", imports);
  const ofRoom = (WHOLE[room] ?? "").split(" ").filter((one) => one !== "")
    .map((one) => `tests/${one}`);
  const words = wordsOf(file);
  const rank = (test: string) => {
    const own = test === `${mirror}/${file.split("/").at(-1)!.replace(/\.tsx?$/, "_test.ts")}`;
    if (own) return -1;
    // a test of what imports the file says more of it than one of something else in its room
    const subject = test.replace(/^tests/, "src").replace(/_test\.ts$/, ".ts");
    const near = Math.min(distance.get(test) ?? 99, (distance.get(subject) ?? 99) + 0.5);
    const isAlike = wordsOf(test).some((word) => words.includes(word));
    const far = test.startsWith(home) ? 0 : ofRoom.includes(test) ? 1.5 : 3;
    // and one in memory says it sooner
    return near - (isAlike ? 1.5 : 0) + far + (whole.has(test) ? 1 : 0);
  };
  const near = [...imports.keys()]
    .filter((test) =>
      test.endsWith("_test.ts") &&
      // a browser takes longer than all others together
      !test.includes("browser") &&
      (test.startsWith(home) || distance.get(test) === 1 || distance.has(test))
    )
    .toSorted((one, other) => rank(one) - rank(other));
  const chosen = [...near.slice(0, Math.max(Math.ceil(most / 2), most - ofRoom.length)), ...ofRoom];
  return [...new Set(chosen)].slice(0, most).map((test) => ({ file: test }));
}

/** The files that import a file, by how many steps. */
function importersOf(file: string, imports: Imports): ReadonlyMap<string, number> {
  const distance = new Map<string, number>([[file, 0]]);
  for (let step = 1, found = [file]; found.length > 0 && step < 8; step++) {
    const next: string[] = [];
    for (const [importer, targets] of imports) {
      if (distance.has(importer) || !targets.some((one) => found.includes(one))) continue;
      distance.set(importer, step);
      next.push(importer);
    }
    found = next;
  }
  return distance;
}

/** The words of a file's name, in the singular: `team`, `key` of `team_keys.ts` and of `team_keys_test.ts`. */
function wordsOf(file: string): readonly string[] {
  const name = file.split("/").at(-1)!.replace(/(_test)?\.tsx?$/, "");
  return name.split("_").map((word) => word.replace(/s$/, ""));
}
