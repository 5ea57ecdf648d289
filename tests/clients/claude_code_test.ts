import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment } from "../fake/command.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";
import { tempDir } from "../fake/temp.ts";

/**
 * The program, as `npm install @anthropic-ai/claude-code` leaves it:
 * `CLAUDE_CODE=node_modules/.bin/claude deno task test`. CI installs and runs it.
 */
const claude = Deno.env.get("CLAUDE_CODE");

for (const dialect of ["chat", "messages"] as const) {
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
    const { code, stdout, stderr } = await new Deno.Command(claude!, {
      args: ["-p", "--allowedTools", "Read,Edit", "--output-format", "json", prompt],
      cwd: dir.path,
      stdin: "null",
      clearEnv: true,
      env: environment({
        HOME: dir.path,
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
    const result = JSON.parse(out!);
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
