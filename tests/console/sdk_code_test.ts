/** The playground's programs: sent by the SDKs, they get what the playground gets. */

import { DIALECTS } from "../../src/console/assets/dialects.js";
import { inJavaScript, inPython } from "../../src/console/assets/sdk_code.js";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment, exampleArgs } from "../fake/command.ts";
import { startGateway } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";
import { tempDir } from "../fake/temp.ts";

const PICTURE = {
  type: "image/png",
  base64: btoa(String.fromCharCode(
    ...await Deno.readFile(new URL("../images/files/rgb.png", import.meta.url)),
  )),
};

const FORM = {
  system: 'Say "yes".',
  text: "Hello, it's me",
  picture: undefined,
  maxTokens: 100,
  offersTool: false,
};

function bodyOf(dialect: DialectName, form: object, stream: boolean) {
  return { model: "svc-k2.6", stream, ...DIALECTS[dialect].body({ ...FORM, ...form }) };
}

Deno.test("the playground knows every dialect", () => {
  assertEquals(Object.keys(DIALECTS), DIALECT_NAMES);
});

Deno.test("programs in JavaScript work, in every dialect, whole and streamed", async () => {
  await using upstream = simulateServer();
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  await using dir = await tempDir();
  for (const dialect of DIALECT_NAMES) {
    for (const stream of [false, true]) {
      const body = bodyOf(dialect, {}, stream);
      const code = inJavaScript(DIALECTS[dialect].sdk, body, gateway.url);
      const file = `${dialect}_${stream}.ts`;
      await Deno.writeTextFile(
        `${dir.path}/${file}`,
        `import process from "node:process";\n${code}\n`,
      );
      const { code: status, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [...await exampleArgs(dir.path), file],
        cwd: dir.path,
        clearEnv: true,
        env: environment({
          OPENAI_API_KEY: gateway.key,
          ANTHROPIC_API_KEY: gateway.key,
          DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
        }),
      }).output();
      assertEquals(status, 0, `${code}\n${new TextDecoder().decode(stderr)}`);
      assertStringIncludes(new TextDecoder().decode(stdout), "Hello, it's me", code);
    }
  }
});

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
  const forms = [{}, { offersTool: true, system: "" }, { picture: PICTURE }];
  for (const dialect of DIALECT_NAMES) {
    for (const [at, form] of forms.entries()) {
      const body = bodyOf(dialect, form, at !== 0);
      const { sdk } = DIALECTS[dialect];
      const { success, stdout, stderr } = await new Deno.Command("python3", {
        args: ["-c", RECORDER + inPython(sdk, body, "http://127.0.0.1:1")],
      }).output();
      const [said, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert(success, err);
      const { stream, ...rest } = body;
      const [method, fields] = JSON.parse(said!.split("\n")[0]!);
      assertEquals(method, sdk.method);
      assertEquals(shortened(fields), shortened(stream ? body : rest));
    }
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
