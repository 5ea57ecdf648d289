import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment, exampleArgs, PROGRAM, sluice, startCommand } from "../fake/command.ts";
import { tempDir } from "../fake/temp.ts";

const ROOT = new URL("../../", import.meta.url);
const readme = await Deno.readTextFile(new URL("README.md", ROOT));

/** Blocks of code, in order, with their language. */
const blocks = [...readme.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
  language: language!,
  code: code!,
}));

/** The one block that contains `text`; all blocks of the README must be asked for by some test. */
function block(text: string): string {
  const found = blocks.filter(({ code }) => code.includes(text));
  assertEquals(found.length, 1, `blocks with ${text}`);
  return found[0]!.code;
}

async function bash(script: string, env: Record<string, string>, cwd: string) {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-euc", script],
    cwd,
    clearEnv: true,
    env: environment(env),
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, `${script}\n${out}\n${err}`);
  return out!;
}

Deno.test("the README is at most 150 lines, its first call by line 15", () => {
  const lines = readme.split("\n");
  assert(lines.length <= 151, `it has ${lines.length} lines`);
  const first = lines.findIndex((line) => line.includes("deno@2 task start"));
  assert(first >= 0 && first < 15);
});

Deno.test("every block of the README is run by a test", () => {
  const tested = [
    "npx -y deno@2 task start", // tests/cli/commands_test.ts: first start
    "export SLUICE_OWNER_KEY",
    'import OpenAI from "openai"',
    "ANTHROPIC_BASE_URL=http", // tests/clients/claude_code_test.ts
    "SLUICE_UPSTREAM_URL=https://host.example/v1",
    '"upstreams"',
    "account create --email ada@example.com",
    "deno task compile", // .ci/run
  ];
  for (const text of tested) block(text);
  assertEquals(blocks.length, tested.length);
});

Deno.test("README: the curl and the OpenAI SDK work as pasted", async () => {
  await using dir = await tempDir();
  const [exportLine, , , ...curl] = block("export SLUICE_OWNER_KEY").split("\n");
  const key = (await bash(`${exportLine}\necho $SLUICE_OWNER_KEY`, {}, dir.path)).trim();
  await using gateway = startCommand(["--port", "0"], {
    directory: dir.path,
    env: { SLUICE_OWNER_KEY: key },
  });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const here = (text: string) => text.replaceAll("http://127.0.0.1:8787", url!);
  const reply = JSON.parse(await bash(here(curl.join("\n")), { SLUICE_OWNER_KEY: key }, dir.path));
  assertStringIncludes(reply.choices[0].message.content, "Hello");

  await Deno.writeTextFile(`${dir.path}/example.ts`, here(block('import OpenAI from "openai"')));
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...await exampleArgs(dir.path), "example.ts"],
    cwd: dir.path,
    clearEnv: true,
    env: environment({ SLUICE_OWNER_KEY: key }),
  }).output();
  assertStringIncludes(
    new TextDecoder().decode(stdout),
    'You said: "Hello"',
    new TextDecoder().decode(stderr),
  );
});

Deno.test("README: the settings are good", async () => {
  await using dir = await tempDir();
  const line = block("SLUICE_UPSTREAM_URL=https://host.example/v1").trim();
  const env = Object.fromEntries(
    [...line.matchAll(/(SLUICE_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  );
  const models = await sluice(["models"], { directory: dir.path, env });
  assertStringIncludes(models.out, "default:svc-k3");
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, block('"upstreams"'));
  const check = await sluice(["config", "check"], {
    directory: dir.path,
    env: { MOONSHOT_API_KEY: "x" },
  });
  assertEquals([check.code, check.err], [0, ""]);
});

Deno.test("README: accounts and keys from the shell", async () => {
  await using dir = await tempDir();
  const program = [Deno.execPath(), ...PROGRAM].map((word) => `'${word}'`).join(" ");
  const script = block("account create --email ada@example.com").replaceAll(
    "deno task start",
    program,
  );
  const out = await bash(script, {}, dir.path);
  assertStringIncludes(out, "Created ada@example.com");
  assertStringIncludes(out, "you won't be able to see it again");
});
