/**
 * Holds a gateway against the wire formats and prints what holds.
 *
 * `deno task conformance` starts one of ours over the simulator. Any other is reached by
 * `--base URL --key KEY --chat-model M --messages-model M --responses-model M --embeddings-model M`, with
 * `--header "name: value"` for what it wants besides; `--only GROUP` runs the checks of one group; `--json` prints a
 * line of JSON per check.
 * Exit code 1 when something does not hold.
 */

import { parseArgs } from "node:util";
import { startGateway } from "../fake/gateway.ts";
import { runChecks } from "./checks.ts";
import type { Target } from "./target.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    base: { type: "string" },
    key: { type: "string" },
    "chat-model": { type: "string" },
    "messages-model": { type: "string" },
    "responses-model": { type: "string" },
    only: { type: "string" },
    "embeddings-model": { type: "string" },
    header: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
  },
});

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

await using ours = values.base === undefined
  ? await startGateway({
    settings: { routes: { "text-embedding-3-small": { kind: "embeddings" } } },
  })
  : undefined;
const target: Target = {
  base: (ours?.url ?? values.base!).replace(/\/(v1\/?)?$/, ""),
  key: values.key ?? ours?.key ?? "",
  headers: Object.fromEntries(
    values.header.map((line) => line.split(/:\s*(.*)/, 2) as [string, string]),
  ),
  models: {
    chat: values["chat-model"] ?? "svc-k2",
    messages: values["messages-model"] ?? values["chat-model"] ?? "svc-k2",
    responses: values["responses-model"] ?? values["chat-model"] ?? "svc-k3",
    embeddings: values["embeddings-model"] ??
      (values.base === undefined ? "text-embedding-3-small" : undefined),
  },
};
if (!values.json) {
  const models = Object.entries(target.models).map(([kind, model]) =>
    `${kind} ${model ?? "not checked"}`
  );
  say(`${target.base}: ${models.join(", ")}\n`);
}

let [held, all] = [0, 0];
for await (const outcome of runChecks(target, values.only)) {
  const { group, holds, fault } = outcome;
  all++;
  if (fault === undefined) held++;
  if (values.json) say(JSON.stringify({ ...outcome, ok: fault === undefined }));
  else {
    say(`${fault === undefined ? "holds" : "FAILS"}  ${group.padEnd(10)} ${holds}`);
    if (fault !== undefined) say(`                  ${fault}`);
  }
}
if (!values.json) say(`\n${held} of ${all} hold`);
if (held < all) Deno.exitCode = 1;
