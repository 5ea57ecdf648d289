import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment, exampleArgs, homeIn } from "../fake/command.ts";
import { serveByTier, sluice } from "../fake/shell.ts";
import { tempDir } from "../fake/temp.ts";
import { isProof, PROOF } from "../tier.ts";
import { launcherHere } from "./launcher.ts";

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
    "npx -y deno@2 task start", // tests/doors/cli/commands_test.ts: first start
    'eval "$(sluice env)"',
    'import OpenAI from "openai"',
    "SLUICE_UPSTREAM_URL=https://host.example/v1",
    '"upstreams"',
    "account create --email ada@example.com",
    "deno task compile", // .ci/run
  ];
  for (const text of tested) block(text);
  assertEquals(blocks.length, tested.length);
});

/** A home with nothing in it, and a port that nobody uses. */
async function newcomer() {
  const dir = await tempDir();
  using free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const env = {
    ...homeIn(dir.path),
    HOME: dir.path,
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    SLUICE_PORT: `${(free.addr as Deno.NetAddr).port}`,
  };
  return { path: dir.path, env, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

/** The shell's blocks from "Try it" on, in order, as somebody pastes them who has the runtime that runs the tests. */
function pasted(): string {
  const scripts = blocks.filter(({ language, code }) =>
    language === "sh" && !code.includes("task start") && !code.includes("task compile")
  );
  assertEquals(scripts.length, 2);
  return scripts.map(({ code }) => code).join("\n")
    .replaceAll("npx -y deno@2", `'${Deno.execPath()}'`)
    .replace("task install", `task --config '${new URL("deno.json", ROOT).pathname}' install`);
}

/** Who runs the gateway that the pasted text needs. */
const CASES = [
  { name: "the gateway in another shell", isOther: true, options: {} },
  { name: "the gateway in the same shell", isOther: false, options: PROOF },
];

for (const { name, isOther, options } of CASES) {
  Deno.test(`README: pasted from top to bottom, with ${name}`, options, async () => {
    await using at = await newcomer();
    await using stack = new AsyncDisposableStack();
    if (isOther) {
      const gateway = stack.use(serveByTier([], { directory: at.path, env: at.env }));
      await gateway.waitFor(/curl/);
    }
    const program = [Deno.execPath(), ...await exampleArgs(at.path), "example.ts"]
      .map((word) => `'${word}'`).join(" ");
    await Deno.writeTextFile(`${at.path}/example.ts`, block('import OpenAI from "openai"'));
    let commands = pasted();
    if (!isProof) {
      // what is installed has run once by then; from there on this process runs the commands
      const launcher = stack.use(launcherHere());
      await Deno.writeTextFile(`${at.path}/here`, launcher.text, { mode: 0o755 });
      commands = commands.replace(/^.* install$/m, '$&\ncp "$HOME/here" "$HOME/.local/bin/sluice"');
    }
    // a gateway that the script started in the background ends with it
    const script =
      `trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n${commands}\n${program}\n`;
    const out = await bash(script, at.env, at.path);
    assertStringIncludes(out, "Installed sluice");
    assertStringIncludes(out, '"content":"You said: \\"Hello\\"');
    assertStringIncludes(out, "Created ada@example.com");
    assertStringIncludes(out, "you won't be able to see it again");
    assertStringIncludes(out.slice(out.lastIndexOf("Created ada")), 'You said: "Hello"');
    assertEquals(/listening on/.test(out), !isOther);
  });
}

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
