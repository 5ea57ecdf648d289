/** The playground's programs: sent by the SDKs, they get what the playground gets. */

import { Buffer } from "node:buffer";
import { DIALECTS } from "../../../src/doors/console/assets/dialects.js";
import { inCurl, inJavaScript, inPython } from "../../../src/doors/console/assets/sdk_code.js";
import { type Played, playgroundBody } from "../../../src/doors/console/playground_body.ts";
import { DIALECT_NAMES, type DialectName } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { environment, exampleArgs } from "../../fake/command.ts";
import { startGateway } from "../../fake/gateway.ts";
import { simulateServer } from "../../fake/simulate.ts";
import { tempDir } from "../../fake/temp.ts";

const PNG = await Deno.readFile(new URL("../../requests/images/files/rgb.png", import.meta.url));
const PICTURE = `data:image/png;base64,${Buffer.from(PNG).toString("base64")}`;

const FORM = { text: "Hello, it's me", system: 'Say "yes".', offersTool: false };

function bodyOf(
  dialect: DialectName,
  { text = FORM.text, picture, ...form }: Partial<typeof FORM> & { readonly picture?: string },
  stream: boolean,
) {
  const last = { text, ...(picture === undefined ? {} : { picture }) };
  const { system, offersTool } = { ...FORM, ...form };
  const asked: Played = {
    dialect,
    model: "svc-k2.6",
    stream,
    system,
    turns: [],
    last,
    maxTokens: 100,
    offersTool,
  };
  return playgroundBody(JSON.stringify(asked))!;
}

Deno.test("the playground knows every dialect, and embeddings", () => {
  assertEquals(Object.keys(DIALECTS), [...DIALECT_NAMES, "embeddings"]);
});

Deno.test("no body is written for what the playground does not send", () => {
  for (const text of ["", "{", "null", "[]", "{}", '{"dialect":"embeddings"}']) {
    assertEquals(playgroundBody(text), undefined, text);
  }
});

Deno.test("programs in JavaScript work, in every dialect, whole and streamed", async () => {
  await using upstream = simulateServer();
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  await using dir = await tempDir();
  const programs: Program[] = [];
  const wanted: string[] = [];
  for (const dialect of DIALECT_NAMES) {
    for (const stream of [false, true]) {
      const cases = [
        [{}, "Hello, it's me"],
        [{ text: '[[call get_weather {"place":"Lisbon"}]]', offersTool: true }, "Lisbon"],
        [{ text: `${"x".repeat(5_000)} [[say it works]]` }, "it works"],
      ] as const;
      for (const [form, text] of cases) {
        const body = bodyOf(dialect, form, stream);
        programs.push({ code: inJavaScript(DIALECTS[dialect].sdk, body, gateway.url), body });
        wanted.push(text);
      }
    }
  }
  const printed = await printedBy(programs, { dir: dir.path, key: gateway.key });
  for (const [at, text] of wanted.entries()) {
    assertStringIncludes(printed[at]!, text, programs[at]!.code);
  }
});

Deno.test("curl commands work as pasted, whole and streamed, short and long", async () => {
  await using gateway = await startGateway();
  await using dir = await tempDir();
  for (const dialect of DIALECT_NAMES) {
    for (const stream of [false, true]) {
      for (
        const text of ["it's [[say fine]]", `it's [[say fine]] $HOME \`id\` "${"x".repeat(5_000)}"`]
      ) {
        const body = bodyOf(dialect, { text }, stream);
        await Deno.writeTextFile(`${dir.path}/request.json`, JSON.stringify(body));
        const command = inCurl(DIALECTS[dialect].path, body, gateway.url);
        const { stdout } = await new Deno.Command("bash", {
          args: ["-c", command],
          cwd: dir.path,
          env: { OPENAI_API_KEY: gateway.key },
        }).output();
        const printed = new TextDecoder().decode(stdout);
        assertStringIncludes(printed, "fine", command);
        assertEquals(/^(data|event): /m.test(printed), stream, command);
      }
    }
  }
});

Deno.test("the program for embeddings prints the vector and its tokens", async () => {
  await using gateway = await startGateway({
    settings: { routes: { vectors: { kind: "embeddings" } } },
  });
  await using dir = await tempDir();
  const { sdk } = DIALECTS.embeddings;
  const body = { model: "vectors", input: "A cat" };
  const code = inJavaScript(sdk, body, gateway.url);
  const [printed] = await printedBy([{ code, body }], { dir: dir.path, key: gateway.key });
  assertMatch(printed!, /^\[\s+-?\d/, code);
  assertMatch(printed!, /\] 2\n$/, code);
});

/** A program in JavaScript, and the body that a long request reads from a file. */
interface Program {
  readonly code: string;
  readonly body: unknown;
}

/** Stands before what each program prints. */
const MARK = "--- program";

/** What programs in JavaScript print, one after the other in one process, which loads the SDKs once. */
async function printedBy(
  programs: readonly Program[],
  { dir, key }: { dir: string; key: string },
): Promise<string[]> {
  for (const [at, { code, body }] of programs.entries()) {
    await Deno.writeTextFile(`${dir}/${at}.ts`, `import process from "node:process";\n${code}\n`);
    await Deno.writeTextFile(`${dir}/${at}.json`, JSON.stringify(body));
  }
  const run = (_: unknown, at: number) => `
    await Deno.copyFile("${at}.json", "request.json");
    console.log("${MARK}");
    await import("./${at}.ts");`;
  await Deno.writeTextFile(`${dir}/main.ts`, programs.map(run).join("\n"));
  const { code: status, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...await exampleArgs(dir), "main.ts"],
    cwd: dir,
    clearEnv: true,
    env: environment({
      OPENAI_API_KEY: key,
      ANTHROPIC_API_KEY: key,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    }),
  }).output();
  const [said, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const [before, ...printed] = said!.split(`${MARK}\n`);
  assertEquals([status, before], [0, ""], `${programs[printed.length - 1]?.code}\n${err}`);
  assertEquals(printed.length, programs.length);
  return printed;
}

/** A program in Python runs against a module that keeps what its client is called with. */
const RECORDER = `
import json, sys, types

class Client:
    def __init__(self, path=""):
        self.path = path
    def __getattr__(self, name):
        return Client(f"{self.path}.{name}".lstrip("."))
    def __call__(self, **fields):
        print(json.dumps([self.path, fields]))
        return [] if fields.get("stream") else Client("answer")
    def __getitem__(self, at):
        return self
    def __repr__(self):
        return self.path
for name, of in [("openai", "OpenAI"), ("anthropic", "Anthropic")]:
    module = types.ModuleType(name)
    setattr(module, of, lambda base_url: Client())
    sys.modules[name] = module
`;

const hasPython = await new Deno.Command("python3", { args: ["--version"] }).output()
  .then(({ success }) => success, () => false);

Deno.test("programs in Python send the same request", { ignore: !hasPython }, async () => {
  await using dir = await tempDir();
  const forms = [{}, { text: "x".repeat(5_000) }, { offersTool: true, system: "" }, {
    picture: PICTURE,
  }];
  const requests = DIALECT_NAMES.flatMap((dialect) =>
    forms.map((form, at) => ({
      sdk: DIALECTS[dialect].sdk,
      body: bodyOf(dialect, form, at !== 0),
    }))
  );
  const { sdk } = DIALECTS.embeddings;
  const all = [...requests, { sdk, body: { model: "vectors", stream: false, input: FORM.text } }];
  for (const { sdk, body } of all) {
    await Deno.writeTextFile(`${dir.path}/request.json`, JSON.stringify(body));
    const { success, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-c", RECORDER + inPython(sdk, body, "http://127.0.0.1:1")],
      cwd: dir.path,
    }).output();
    const [said, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert(success, err);
    const { stream, ...rest } = body;
    const [method, fields] = JSON.parse(said!.split("\n")[0]!);
    assertEquals(method, sdk.method);
    assertEquals(shortened(fields), shortened(stream ? body : rest));
  }
});

/** Long texts are cut, as they are in a program that is shown. */
function shortened(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      body,
      (_, value) => typeof value === "string" && value.length > 50 ? value.slice(0, 50) : value,
    ),
  );
}
