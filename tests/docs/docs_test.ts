import { signatureOf } from "../../src/operating/alerts/mod.ts";
import { settingsReference } from "../../src/settings/config/mod.ts";
import { encodeHex, toFileUrl } from "../../src/ground/std/mod.ts";
import { LOCAL_SERVERS } from "../../src/requests/upstreams/mod.ts";
import { providersPage } from "../../src/doors/cli/providers.ts";
import { findKnownProvider } from "../../src/settings/known_providers/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { environment, exampleArgs, homeIn, PROGRAM, startCommand } from "../fake/command.ts";
import { serveByTier, sluice } from "../fake/shell.ts";
import { startGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { tempDir } from "../fake/temp.ts";
import { isProof, sampled } from "../tier.ts";
import { type Launcher, launcherHere } from "./launcher.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => Deno.readTextFile(new URL(path, ROOT));

async function pagesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(new URL(folder, ROOT))))
    .map(({ name }) => name).filter((name) => name.endsWith(".md")).toSorted();
}

const clientPages = await pagesIn("docs/clients/");
const pages = await pagesIn("docs/");

/** The blocks of code of a page, with their language. */
async function blocksOf(page: string) {
  const text = await read(`docs/${page}`);
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
    language: language!,
    code: code!,
  }));
}

/** Variables whose values must have a shape. */
const SHAPED: Readonly<Record<string, string>> = {
  STRIPE_SECRET_KEY: "sk_test_51AbCdEfGhIjKlMnOpQrStUv",
  STRIPE_WEBHOOK_SECRET: "whsec_AbCdEfGhIjKlMnOpQrStUvWx",
};

/** A launcher that starts the program. */
const PROCESS = `#!/bin/sh\nexec ${
  [Deno.execPath(), ...PROGRAM].map((word) => `'${word}'`).join(" ")
} "$@"\n`;

/** Programs of the pages, which run in one process that the first of them starts. */
class Programs implements AsyncDisposable {
  readonly #owned = new AsyncDisposableStack();
  #started: Promise<{ url: string; directory: string }> | undefined;
  #count = 0;

  async run(code: string, env: Record<string, string>): Promise<void> {
    const { url, directory } = await (this.#started ??= this.#start());
    const file = `${directory}/example${this.#count++}.ts`;
    await Deno.writeTextFile(file, code);
    const reply = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ file: toFileUrl(file).href, env }),
    });
    assertEquals(await reply.text(), "", code);
  }

  async #start() {
    const { path: directory } = this.#owned.use(await tempDir());
    const process = this.#owned.use(startCommand([], {
      directory,
      programArgs: [...await exampleArgs(directory), new URL("examples.ts", import.meta.url).href],
    }));
    const [url] = await process.waitFor(/http:\S+/);
    return { url, directory };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

/** Pages whose commands are for a gateway that is stopped. */
const WITHOUT_GATEWAY = new Set(["operating.md"]);

/** Runs what a page shows, each page against a gateway of its own. */
async function runPage(page: string, launcher: Launcher, programs: Programs): Promise<void> {
  const blocks = await blocksOf(page);
  // `console` is for what needs root, systemd, containers or a coding tool; `js` is run by tests/clients/tools/, and
  // `nginx` and `caddyfile` by subpath_test.ts, and `yaml` by tests/deploy/helm_test.ts
  const known = ["sh", "ts", "js", "python", "jsonc", "console", "text", "http"]
    .concat(["nginx", "caddyfile", "yaml"]);
  for (const { language } of blocks) assert(known.includes(language), `what is ${language}?`);
  const of = (language: string) =>
    blocks.filter((block) => block.language === language).map(({ code }) => code);
  await using dir = await tempDir();
  await using away = await tempDir();
  await using stack = new AsyncDisposableStack();
  const env: Record<string, string> = {
    PATH: `${away.path}:${Deno.env.get("PATH")}`,
    HOME: away.path,
    ...homeIn(away.path),
    DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
  };
  const runs = [...of("sh"), ...of("ts")].length > 0;
  if (runs) {
    const text = isProof ? PROCESS : launcher.text;
    await Deno.writeTextFile(`${away.path}/sluice`, text, { mode: 0o755 });
    const gateway = stack.use(serveByTier(["--port", "0"], { directory: dir.path, env }));
    await gateway.waitFor(/curl/);
    if (WITHOUT_GATEWAY.has(page)) {
      gateway.signal("SIGTERM");
      await gateway.status;
    }
  }
  const run = async (script: string) => {
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-euc", script],
      cwd: dir.path,
      clearEnv: true,
      env: environment(env),
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals(code, 0, `${script}\n${out}\n${err}`);
    return out!;
  };
  for (const script of of("sh")) await run(script);
  for (const code of of("ts")) {
    const variables = (await run('eval "$(sluice env)"; env -0')).split("\0").slice(0, -1);
    await programs.run(code, Object.fromEntries(variables.map((one) => one.split(/=(.*)/s))));
  }
  for (const [index, code] of of("jsonc").entries()) {
    await Deno.writeTextFile(`${away.path}/settings${index}.jsonc`, code);
    const names = [...code.matchAll(/\$\{(\w+)\}/g)].map((
      [, name],
    ) => [name!, SHAPED[name!] ?? "x"]);
    const { code: status, err } = await sluice(
      ["config", "check", "--config", `${away.path}/settings${index}.jsonc`],
      { directory: away.path, env: Object.fromEntries(names) },
    );
    assertEquals([status, err], [0, ""]);
  }
}

Deno.test("docs: commands, programs and settings of the pages work", async (t) => {
  await using launcher = launcherHere();
  await using programs = new Programs();
  const all = [...pages, ...clientPages.map((name) => `clients/${name}`)];
  for (const page of sampled(all, new Random(testSeed()), 3)) {
    await t.step(`docs/${page}`, () => runPage(page, launcher, programs));
  }
});

/** What the examples of docs/alerts.md say of signatures: whether each is right. */
const VERIFIERS: Readonly<Record<string, (code: string) => readonly string[]>> = {
  js: (code) => [
    Deno.execPath(),
    "eval",
    "--ext=js",
    `import { Buffer } from "node:buffer";\n${code.replace("export ", "")}
    for (const [body, signature, secret, now] of JSON.parse(Deno.args[0])) {
      console.log(isFromSluice(body, signature, secret, now));
    }`,
  ],
  python: (code) => [
    "python3",
    "-c",
    `${code}
import json, sys
for body, signature, secret, now in json.loads(sys.argv[1]):
    print(str(is_from_sluice(body.encode(), signature, secret, now)).lower())`,
  ],
};

Deno.test("docs/alerts.md: its examples verify signatures", async () => {
  const body = '{"object":"alerts","text":"café"}';
  const signature = signatureOf(body, { secret: "right", atMs: 1_795_000_000_000 });
  const cases = [
    [body, signature, "right", 1_795_000_100],
    [body, signature, "wrong", 1_795_000_100],
    [`${body} `, signature, "right", 1_795_000_100],
    [body, signature, "right", 1_795_000_301],
    [body, signature.replace(/t=\d+/, "t=1795000001"), "right", 1_795_000_100],
    [body, "", "right", 1_795_000_100],
  ];
  for (const { language, code } of await blocksOf("alerts.md")) {
    const [program, ...args] = VERIFIERS[language]?.(code) ?? [];
    if (program === undefined) continue;
    const { stdout, stderr } = await new Deno.Command(program, {
      args: [...args, JSON.stringify(cases)],
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
    const results = (out || err!).split("\n");
    assertEquals(results, ["true", "false", "false", "false", "false", "false"], language);
  }
});

Deno.test("what stands beside a command is a comment to the shell as well", async () => {
  const texts: (readonly [string, string])[] = [["README.md", await read("README.md")]];
  for (const page of pages) texts.push([page, await read(`docs/${page}`)]);
  for (const name of ["nginx.conf", "Caddyfile.host", "compose.yaml", "compose.postgres.yaml"]) {
    const text = (await read(`deploy/${name}`)).replaceAll(/^# {3}/gm, "$ ");
    texts.push([`deploy/${name}`, "```console\n" + text + "\n```\n"]);
  }
  for (const [page, text] of texts) {
    for (const [, block] of text.matchAll(/^```console\n([\s\S]*?)^```/gm)) {
      const beside = block!.split("\n").filter((line) => /^[$#] .*\S {3,}[^#\s]/.test(line));
      assertEquals(beside, [], page);
    }
  }
});

Deno.test("pages lead to files that are there", async () => {
  const decisions = (await Array.fromAsync(Deno.readDir(new URL("docs/decisions/", ROOT))))
    .map(({ name }) => name).toSorted();
  for (
    const [folder, names] of [
      ["docs/", pages],
      ["docs/decisions/", decisions],
      ["docs/internals/", await pagesIn("docs/internals/")],
      ["docs/clients/", clientPages],
      ["", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]],
    ] as const
  ) {
    for (const name of names) {
      const text = await read(`${folder}${name}`);
      for (const [, link] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (/^https?:/.test(link!)) continue;
        const found = await Deno.stat(new URL(`${folder}${link}`, ROOT)).catch(() => undefined);
        assert(found !== undefined, `${folder}${name} leads to ${link}, which is not there`);
      }
      for (const [, path] of text.matchAll(/`((?:tests|bench|deploy|src)\/[\w./-]*)`/g)) {
        const found = await Deno.stat(new URL(path!, ROOT)).catch(() => undefined);
        assert(found !== undefined, `${folder}${name} names ${path}, which is not there`);
      }
    }
  }
});

Deno.test("CHANGELOG.md says what each reader of the next release needs, a line each", async () => {
  const text = await read("CHANGELOG.md");
  assert(new TextEncoder().encode(text).length < 12_000, "shorten it: git has what came before");
  const [first, ...releases] = text.split(/^## /m).slice(1);
  assert(first!.startsWith("Unreleased\n"));
  for (const release of [first!, ...releases]) {
    const readers = [...release.matchAll(/^### (.*)$/gm)].map(([, name]) => name);
    assertEquals(readers.slice(0, 3), ["For developers", "For operators", "For teams"]);
    const lines = release.split("\n").filter((line) => /^[-\s]+\S/.test(line));
    for (const line of lines) assert(line.startsWith("- "), `more than a line: ${line}`);
  }
});

Deno.test("docs/clients.md leads to each client's page, and each says what was tested", async () => {
  const index = await read("docs/clients.md");
  for (const name of clientPages) {
    assertStringIncludes(index, `(clients/${name})`);
    assert(/^(Tested: |Not tested)/m.test(await read(`docs/clients/${name}`)), name);
  }
});

Deno.test("docs/settings.md is what the schema says", async () => {
  assertStringIncludes(
    await read("docs/settings.md"),
    settingsReference(),
    "replace its table with the output of: sluice config schema --markdown",
  );
});

Deno.test("docs/providers.md is what sluice providers --markdown prints", async () => {
  assertEquals(await read("docs/providers.md"), providersPage());
});

Deno.test("docs/upstreams.md names every preset", async () => {
  const text = await read("docs/upstreams.md");
  const services = ["moonshot", "anthropic", "openai", "openrouter", "deepseek"].map((id) => {
    const { keyVariables: [keyVariable], ...provider } = findKnownProvider(id)!;
    return { ...provider, keyVariable };
  });
  for (const { title, url, source, keyVariable } of [...services, ...LOCAL_SERVERS]) {
    const row = text.split("\n").find((line) => line.startsWith(`| ${title} `));
    assert(row !== undefined, title);
    assertStringIncludes(row, `\`${url}\``);
    assertStringIncludes(row, source.replace(/^https:\/\/|\/$/g, "").replace(/^www\./, ""));
    if (keyVariable !== undefined) assertStringIncludes(row, `\`${keyVariable}\``);
  }
});

Deno.test("the dashboard and the alerts ask for metrics that there are", async () => {
  await using gateway = await startGateway();
  const there = await (await fetch(`${gateway.url}/metrics`)).text();
  const named = new Set([...there.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
  for (const path of ["deploy/grafana/sluice.json", "deploy/alerts.yaml"]) {
    const text = await read(path);
    const asked = [...text.matchAll(/\b((?:sluice|process)_[a-z_]+)/g)].map(([, name]) => name!);
    assert(asked.length > 5);
    for (const name of asked) {
      assert(named.has(name.replace(/_bucket$/, "")), `${path} asks for ${name}`);
    }
  }
});

Deno.test("install.sh installs what was released, and nothing else", async () => {
  await using dir = await tempDir();
  const system = Deno.build.os === "darwin" ? "apple-darwin" : "unknown-linux-gnu";
  const name = `sluice-${Deno.build.arch}-${system}`;
  const content = "#!/bin/sh\necho sluice 9.9.9\n";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(content));
  const sum = encodeHex(new Uint8Array(digest));
  let given = content;
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === `/releases/latest/download/${name}`) return new Response(given);
    return pathname === "/releases/latest/download/SHA256SUMS"
      ? new Response(`${"0".repeat(64)}  another\n${sum}  ${name}\n`)
      : new Response(null, { status: 404 });
  });
  const install = async (directory: string) => {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: [new URL("deploy/install.sh", ROOT).pathname],
      env: {
        RELEASES: `http://127.0.0.1:${server.addr.port}/releases`,
        INSTALL_DIR: directory,
      },
    }).output();
    return { code, said: new TextDecoder().decode(code === 0 ? stdout : stderr) };
  };
  const good = await install(`${dir.path}/bin`);
  assertEquals([good.code, good.said], [
    0,
    `Installed sluice 9.9.9 as ${dir.path}/bin/sluice\n` +
    `Add it to your PATH: export PATH="${dir.path}/bin:$PATH"\n`,
  ]);
  given = "#!/bin/sh\necho something else\n";
  const bad = await install(`${dir.path}/other`);
  assertEquals(bad.code, 1);
  assertStringIncludes(bad.said, "nothing was installed");
  assertEquals(await Deno.stat(`${dir.path}/other`).catch(() => undefined), undefined);
});

Deno.test("install.sh says what it takes, and what it lacks", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/install.sh`;
  await Deno.copyFile(new URL("deploy/install.sh", ROOT), path);
  const install = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command("sh", { args: [path, ...args] })
      .output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  };
  const help = await install("--help");
  assertEquals([help.code, help.err], [0, ""]);
  for (const word of ["VERSION", "INSTALL_DIR", "RELEASES"]) assertStringIncludes(help.out, word);
  for (const args of [[], ["--latest"]]) {
    const wrong = await install(...args); // not in a clone
    assertEquals([wrong.code, wrong.out], [2, ""]);
    assertStringIncludes(wrong.err, "Usage: sh install.sh");
  }
});

Deno.test("deno task install puts a launcher where it is told", async () => {
  await using dir = await tempDir();
  const bin = `${dir.path}/it's here`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "--config", new URL("deno.json", ROOT).pathname, "install"],
    env: environment({ INSTALL_DIR: bin }),
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr));
  assertStringIncludes(decoder.decode(stdout), `export PATH="${bin}:$PATH"`);
  const run = await new Deno.Command(`${bin}/sluice`, {
    args: ["key", "create", "--json"],
    cwd: dir.path,
    env: environment(), // the database's native library is loaded
  }).output();
  assertEquals(run.code, 0, decoder.decode(run.stderr));
  assertStringIncludes(decoder.decode(run.stdout), '"key": "sk-');
});
