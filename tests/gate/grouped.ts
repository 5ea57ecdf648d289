/**
 * Runs all tests of the project, several files to an isolate: loading the gateway's modules takes half a second, which some
 * 300 files would each pay.
 *
 *   deno task test                    the gate's tests
 *   deno task test --filter budget    those with this in their name
 *
 * Files that take long have an isolate of their own and come first, so that none of them is waited for at the end.
 */

import { joinPath, toFileUrl } from "../../src/ground/std/mod.ts";
import { EMPTY_CLUSTER, makeEmptyCluster } from "../fake/postgres_cluster.ts";
import { say } from "./run_steps.ts";
import { groupLine, groupsOf, testFiles } from "./groups.ts";

const isProof = Deno.env.get("SLUICE_PROOFS") === "1";
const root = Deno.cwd(); // of a task: the project's directory
/** More than there are processors: tests wait for half of their time. */
const JOBS = 3 * navigator.hardwareConcurrency;
/**
 * The collector's helpers would take their time from the tests beside them: a twentieth of it. As much goes to copying young objects that
 * a larger space lets die first, and more to the collections by which some 2,700 closed files are let go of, where only all of it can be
 * collected (src/ground/platform/collect_garbage.ts).
 */
const V8_FLAGS = [
  "--single-threaded-gc",
  "--min-semi-space-size=16",
  "--max-semi-space-size=32",
  "--expose-gc",
  "--expose-gc-as=collectAsAsked",
].join();
const FLAGS = ["net", "read", "write", "env", "ffi", "sys", "run"].map((one) => `--allow-${one}`);

// As on a developer's machine another gateway may answer at the default port, one does: tests find their own elsewhere.
const other = occupy(8787);

const directory = await Deno.makeTempDir({ prefix: "sluice-tests-" });
const emptyCluster = await makeEmptyCluster();
let code: number;
try {
  const entries: string[] = [];
  for (const [at, files] of groupsOf(await testFiles(root, { isProof })).entries()) {
    const entry = joinPath(directory, `group_${at}.ts`);
    const urls = files.map((file) => toFileUrl(joinPath(root, file)).href);
    await Deno.writeTextFile(entry, urls.map((url) => `await import("${url}");\n`).join(""));
    entries.push(entry);
    if (files.length > 1) say(groupLine(at, files));
  }
  const { code: ended } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--quiet",
      "--parallel",
      "--no-check",
      `--v8-flags=${V8_FLAGS}`,
      `--config=${joinPath(root, "deno.json")}`,
      `--lock=${joinPath(root, "tests/deno.lock")}`,
      ...FLAGS,
      ...Deno.args,
      ...entries,
    ],
    cwd: root,
    env: {
      DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(JOBS),
      ...(emptyCluster && { [EMPTY_CLUSTER]: emptyCluster }),
    },
  }).spawn().status;
  code = ended;
} finally {
  for (const one of [directory, emptyCluster]) {
    if (one !== undefined) await Deno.remove(one, { recursive: true });
  }
  await other?.shutdown();
}
Deno.exit(code);

/** Serves what a gateway says of its health; `undefined` if the port is in use, as by a real one. */
function occupy(port: number): Deno.HttpServer | undefined {
  try {
    return Deno.serve(
      { hostname: "127.0.0.1", port, onListen() {} },
      () => Response.json({ status: "ok" }, { headers: { "x-sluice-proof": "of another" } }),
    );
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}
