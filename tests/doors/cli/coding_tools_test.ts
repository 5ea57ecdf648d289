import { clientEnvironment } from "../../../src/doors/cli/client_environment.ts";
import { CODING_TOOLS, TOOLS_PAST_US } from "../../../src/doors/cli/coding_tools.ts";
import { recogniseProgram, toolArguments } from "../../../src/doors/cli/recognise_program.ts";
import { assert, assertEquals } from "../../assert.ts";

const MODELS = [
  { id: "big", contextTokens: 256_000, maxOutputTokens: 128_000, isSimulated: false },
  { id: "little", contextTokens: 8_000, maxOutputTokens: 4_000, isSimulated: false },
];
const URL = "http://127.0.0.1:9999";
const KEY = `sk-${"k".repeat(40)}`;
const gateway = {
  url: URL,
  key: KEY,
  models: { all: MODELS, main: MODELS[0], small: MODELS[1] },
};

/** What is recognised, and where the tool's own arguments begin. */
const RECOGNISED: Readonly<Record<string, readonly [string | undefined, number]>> = {
  "claude -p hi": ["Claude Code", 0],
  "/usr/local/bin/claude": ["Claude Code", 0],
  "C:\\npm\\Claude.CMD -p hi": ["Claude Code", 0],
  "npx @anthropic-ai/claude-code -p hi": ["Claude Code", 1],
  "npx -y opencode-ai@1.18.33 run hi": ["opencode", 2],
  "npx -- cline hi": ["Cline", 2],
  "codex exec hi": ["Codex", 0],
  "npx @openai/codex@0.169.0 exec hi": ["Codex", 1],
  "npx --package @qwen-code/qwen-code qwen hi": ["Qwen Code", 3],
  "npm exec -- @mariozechner/pi-coding-agent -p hi": ["pi", 3],
  "pnpm dlx opencode-ai": ["opencode", 2],
  "pnpm install opencode-ai": [undefined, 0],
  "bun x cline": ["Cline", 2],
  "uvx aider": ["aider", 1],
  "npx": [undefined, 0],
  "python claude": [undefined, 0],
  "claudette": [undefined, 0],
};

for (const [line, expected] of Object.entries(RECOGNISED)) {
  Deno.test(`sluice run recognises: ${line}`, () => {
    const [program, ...args] = line.split(" ");
    const { tool, argsFrom, refused } = recogniseProgram(program!, args);
    assertEquals([tool?.title, argsFrom], expected);
    assertEquals(refused, undefined);
  });
}

const REFUSED = [
  "cursor-agent -p hi",
  "gh copilot suggest hi",
  "copilot",
  "npx @google/gemini-cli",
  "gemini",
  "amp",
  "auggie",
  "kiro-cli chat",
  "windsurf",
];

for (const line of REFUSED) {
  Deno.test(`sluice run refuses, with advice: ${line}`, () => {
    const [program, ...args] = line.split(" ");
    const { refused } = recogniseProgram(program!, args);
    assert(refused !== undefined && /sluice run -- |Use one of/.test(refused), refused);
    for (const { programs } of refused.includes("Use one of") ? CODING_TOOLS : []) {
      assert(refused.includes(programs[0]!), `${refused} lacks ${programs[0]}`);
    }
  });
}

Deno.test("sluice run takes gh for a program of its own unless it is Copilot", () => {
  assertEquals(recogniseProgram("gh", ["pr", "list"]).refused, undefined);
});

Deno.test("no program and no package is in two rows", () => {
  const names = [...CODING_TOOLS, ...TOOLS_PAST_US].flatMap((one) => [
    ...one.programs.map((name) => `${name} ${one.subcommand ?? ""}`),
    ...one.packages ?? [],
  ]);
  assertEquals(names.length, new Set(names).size);
});

for (const tool of CODING_TOOLS) {
  Deno.test(`${tool.title}: set up with the gateway, and nowhere else`, () => {
    const file = tool.file === undefined ? "" : `/data/client-keys/x/${tool.file.name}`;
    const setup = tool.setUp(gateway, file);
    const { env } = setup;
    const args = toolArguments(tool, setup, []);
    const content = tool.file?.content(gateway) ?? "";
    const all = [...Object.values(env), ...args, content].join("\n");
    assert(all.includes(URL), all);
    for (const [, host] of all.matchAll(/https?:\/\/([^/"\s]+)/g)) {
      assertEquals(host, "127.0.0.1:9999");
    }
    assert(!args.join(" ").includes(KEY), "every user of the machine can read arguments");
    assert(all.includes("big"), "names a served model");
    // without a model it is still set up
    tool.setUp({ ...gateway, models: { all: [] } }, file);
    tool.file?.content({ ...gateway, models: { all: [] } });
  });
}

Deno.test("Claude Code has a served model behind each name that it uses", () => {
  const { env } = CODING_TOOLS.find(({ title }) => title === "Claude Code")!.setUp(gateway, "");
  assertEquals(
    Object.entries(env).filter(([name]) => /MODEL$/.test(name)).map(([name, value]) =>
      `${name.replace("ANTHROPIC_", "")}=${value}`
    ),
    [
      "MODEL=claude-big",
      "DEFAULT_FABLE_MODEL=claude-big",
      "DEFAULT_OPUS_MODEL=claude-big",
      "DEFAULT_SONNET_MODEL=claude-big",
      "DEFAULT_HAIKU_MODEL=claude-little",
    ],
  );
  const own = { ...MODELS[0]!, id: "claude-own" };
  const models = { all: [own], main: own, small: own };
  assertEquals(clientEnvironment({ ...gateway, models }).ANTHROPIC_MODEL, "claude-own");
  assertEquals([env.CLAUDE_CODE_MAX_CONTEXT_TOKENS, env.CLAUDE_CODE_USE_BEDROCK], ["256000", ""]);
});

Deno.test("an option that the user gives is not given twice", () => {
  const args = (title: string, ...own: string[]) => {
    const tool = CODING_TOOLS.find((one) => one.title === title)!;
    return toolArguments(tool, tool.setUp(gateway, "/file"), own).join(" ");
  };
  assertEquals(args("Claude Code", "-p", "hi"), "--settings /file -p hi");
  assertEquals(args("Claude Code", "--settings=own.json"), "--settings=own.json");
  assertEquals(
    args("Qwen Code", "-m", "little"),
    `--auth-type openai --openai-base-url ${URL}/v1 -m little`,
  );
  assertEquals(
    args("pi", "--model", "little", "hi"),
    "--extension /file --provider sluice --model little hi",
  );
  assertEquals(args("pi", "list"), "list");
});
