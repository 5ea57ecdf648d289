import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment } from "../fake/command.ts";
import { startGateway, type TestGateway, usageRecords } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";
import { tempDir } from "../fake/temp.ts";
import { chunk, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";

/**
 * The program, as `npm install @anthropic-ai/claude-code` leaves it:
 * `CLAUDE_CODE=node_modules/.bin/claude deno task test`. CI installs and runs it.
 */
const claude = Deno.env.get("CLAUDE_CODE");

/** Runs it to its end on a prompt, with a directory as its home; answers what it printed, as JSON. */
async function run(gateway: TestGateway, directory: string, prompt: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(claude!, {
    args: ["-p", "--allowedTools", "Read,Edit", "--output-format", "json", prompt],
    cwd: directory,
    stdin: "null",
    clearEnv: true,
    env: environment({
      HOME: directory,
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_AUTH_TOKEN: gateway.key,
      ANTHROPIC_MODEL: "svc-k3",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
    }),
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${out}\n${err}`);
  return out!;
}

for (const dialect of ["chat", "messages", "responses"] as const) {
  Deno.test(`Claude Code reads and edits a file over a ${dialect} upstream`, {
    ignore: claude === undefined,
  }, async () => {
    await using server = simulateServer();
    await using gateway = await startGateway({
      settings: { upstream: { url: server.url, dialect } },
    });
    await using dir = await tempDir();
    const file = `${dir.path}/notes.txt`;
    await Deno.writeTextFile(file, "alpha\nbeta\n");
    const edit = { file_path: file, old_string: "beta", new_string: "gamma" };
    const prompt = `[[call Read ${JSON.stringify({ file_path: file })}]] [[then]] ` +
      `[[call Edit ${JSON.stringify(edit)}]] [[then]] [[say The file is edited.]]`;
    const out = await run(gateway, dir.path, prompt);
    const result = JSON.parse(out);
    assertEquals([result.is_error, result.result], [false, "The file is edited."]);
    assertStringIncludes(await Deno.readTextFile(file), "gamma");
    const records = await usageRecords(gateway);
    assertEquals(records.map(({ ending, attempts }) => [ending, attempts]), [
      ["complete", 1],
      ["complete", 1],
      ["complete", 1],
    ]);
    assert(records.every(({ dialect: front }) => front === "messages"));
  });
}

Deno.test("Claude Code keeps the calls of an upstream that numbers them anew in each turn", {
  ignore: claude === undefined,
}, async () => {
  await using dir = await tempDir();
  const files = ["one", "two", "three"].map((name) => `${dir.path}/${name}.txt`);
  for (const file of files) await Deno.writeTextFile(file, `content of ${file}\n`);
  await using upstream = fakeUpstream(({ body }) => {
    const read = files.filter((file) =>
      JSON.stringify(body.messages).includes(`content of ${file}`)
    );
    const next = files.find((file) => !read.includes(file));
    const call = {
      index: 0,
      id: "functions.Read:0",
      type: "function",
      function: { name: "Read", arguments: JSON.stringify({ file_path: next }) },
    };
    return next === undefined
      ? eventStream(
        sse(chunk({ role: "assistant", content: "ALL READ" }), chunk({}, "stop"), "[DONE]"),
      )
      : eventStream(
        sse(chunk({ role: "assistant", tool_calls: [call] }), chunk({}, "tool_calls"), "[DONE]"),
      );
  });
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const result = JSON.parse(await run(gateway, dir.path, "Read the files."));
  assertEquals([result.is_error, result.result], [false, "ALL READ"]);
  assertEquals(upstream.received.length, 4);
});
