/**
 * Makes the executable: `deno task compile [--target TRIPLE] [--output FILE]`.
 *
 * What `deno compile` embeds is in memory as long as the executable runs, and it embeds every npm package of the
 * lock file with all files of each, and each module of ours as TypeScript, as JavaScript and as a source map. So
 * that it holds what it runs and nothing else, this bundles the program (`bundle.ts`) and compiles the bundle with
 * the one package that cannot be bundled, libSQL: its library for the target alone, compressed. Versions and digests
 * stay those of `deno.lock`.
 */
// deno-lint-ignore-file no-console -- a script for a terminal

import { createHash } from "node:crypto";
import { brotliCompressSync, constants } from "node:zlib";
import { bundle } from "./bundle.ts";

const ROOT = new URL("../", import.meta.url);

/** Everything that `sluice` may do: it serves, keeps one file, and runs what `sluice run` is given. */
const PERMISSIONS = ["net", "read", "write", "env", "ffi", "sys", "run"].map((one) =>
  `--allow-${one}`
);

/** Threads: loaded by name, which the bundler does not see. */
const THREADS = [
  "src/ground/database/file/embedded_worker.ts",
  "src/ground/telemetry/last_export_worker.ts",
  "src/wire/large_bodies/worker.ts",
  "src/assemble/serving_thread.ts",
];

/** What browsers are sent, where the program looks for it. */
const ASSETS = "src/doors/console/assets";

/** Loads a library from its file, so it stays a package. */
const UNBUNDLED = "libsql";

/** `gc` is what `collectGarbageWhenIdle()` calls. V8's copies of its built-in functions, one per thread, save 2 % of the processor time of a request and take 2 MB. */
const V8_FLAGS = "--expose-gc,--no-short-builtin-calls";

/** Files of a package that can be loaded. */
const LOADED = /\.(js|mjs|cjs|json|node)$/;

interface Package {
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
  readonly [more: string]: unknown;
}

interface Lock {
  readonly version: string;
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, Package>>;
  readonly workspace: { readonly dependencies: readonly string[] };
}

const target = flag("--target") ?? Deno.build.target;
const output = flag("--output") ?? (target.includes("windows") ? "dist/sluice.exe" : "dist/sluice");

const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
const lock: Lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)));
const directory = await Deno.makeTempDir({ prefix: "sluice-compile-" });
try {
  const { name, version, unstable, compilerOptions, imports } = config;
  const library = { [UNBUNDLED]: imports[UNBUNDLED] };
  const all = pruned(lock, Object.values(imports));
  const embedded = pruned(lock, Object.values(library));
  await fetchPackages({ name, version, unstable, compilerOptions, imports }, all);
  const copied = await copyPackages(all, embedded);
  console.log(`${copied} packages`);
  const program = `${directory}/program`;
  await bundle({
    main: new URL("main.ts", ROOT).pathname,
    threads: THREADS.map((path) => new URL(path, ROOT).pathname),
    imports,
    unbundled: UNBUNDLED,
    packages: `${directory}/node_modules`,
    jsxImportSource: compilerOptions.jsxImportSource,
    output: program,
  });
  await copyFiles(new URL(ASSETS, ROOT).pathname, `${program}/assets`, () => true);
  await write("program/deno.json", { name, version, unstable, imports: library });
  await write("program/deno.lock", embedded);
  await Deno.mkdir(new URL("dist/", ROOT), { recursive: true });
  const bundled = Array.from(Deno.readDirSync(program), ({ name }) => name).filter(isProgram);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--config=deno.json",
      "--lock=deno.lock",
      "--frozen",
      "--no-check", // `deno task ok` has checked it
      ...PERMISSIONS,
      `--v8-flags=${V8_FLAGS}`,
      ...[...bundled, "assets"].map((path) => `--include=${path}`),
      ...(flag("--target") === undefined ? [] : [`--target=${target}`]),
      `--output=${decodeURIComponent(new URL(output, ROOT).pathname)}`,
      "main.js",
    ],
    cwd: program,
    env: { DENO_DIR: `${directory}/cache` },
  }).spawn().status;
  if (code !== 0) Deno.exit(code);
  const { size } = await Deno.stat(new URL(output, ROOT));
  console.log(`${output}: ${(size / 1e6).toFixed(1)} MB`);
} finally {
  await Deno.remove(directory, { recursive: true });
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

function flag(name: string): string | undefined {
  const at = Deno.args.indexOf(name);
  return at < 0 ? undefined : Deno.args[at + 1];
}

async function write(name: string, value: unknown): Promise<void> {
  await Deno.writeTextFile(`${directory}/${name}`, `${JSON.stringify(value, null, 2)}\n`);
}

/** Makes sure that the usual cache has all packages that the program imports. */
async function fetchPackages(config: object, lock: Lock): Promise<void> {
  await write("deno.json", config);
  await write("deno.lock", lock);
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "cache",
      "--quiet",
      `--config=${directory}/deno.json`,
      `--lock=${directory}/deno.lock`,
      "--frozen",
      "main.ts",
      ...THREADS,
    ],
    cwd: ROOT,
    env: { RUST_MIN_STACK: "67108864" }, // Deno 2.4 overflows its own of 2 MB on this graph
  }).spawn().status;
  if (code !== 0) Deno.exit(code);
}

function isProgram(path: string): boolean {
  return /\.(ts|js)$/.test(path);
}

/**
 * Copies programs out of the usual cache: of packages to embed into a cache of Deno's, of all others to where the
 * bundler looks for them.
 *
 * @returns how many packages there are.
 */
async function copyPackages(all: Lock, embedded: Lock): Promise<number> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir, npmCache }: { denoDir: string; npmCache: string } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const bundled = new Map<string, string>();
  const keys = Object.keys(all.npm);
  for await (const { name: registry } of Deno.readDir(npmCache)) {
    for (const key of keys) {
      const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
      const from = `${npmCache}/${registry}/${name}`;
      if (!await exists(`${from}/${version}`)) continue;
      if (embedded.npm[key] === undefined) {
        if (bundled.has(name!)) throw new Error(`Cannot bundle two versions of ${name}`);
        bundled.set(name!, version!);
        await copyFiles(`${from}/${version}`, `${directory}/node_modules/${name}`, isLoaded);
        continue;
      }
      const to = `${directory}/cache/npm/${registry}/${name}`;
      await copyFiles(`${from}/${version}`, `${to}/${version}`, isLoaded);
      if (name!.startsWith("@libsql/")) await compressLibrary(`${to}/${version}`);
      // not asked for where the lock file says enough
      if (await exists(`${from}/registry.json`)) {
        await Deno.copyFile(`${from}/registry.json`, `${to}/registry.json`);
      }
    }
  }
  // The runtime for the target, if it was downloaded before; where links are not allowed it is again.
  await Deno.symlink(`${denoDir}/dl`, `${directory}/cache/dl`, { type: "dir" }).catch(() => {});
  return keys.length;
}

function isLoaded(name: string): boolean {
  return LOADED.test(name);
}

async function copyFiles(
  from: string,
  to: string,
  isWanted: (name: string) => boolean,
): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFiles(`${from}/${name}`, `${to}/${name}`, isWanted);
    else if (isWanted(name)) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/**
 * Replaces the library of a package by its compressed form and by `load_library.cjs`, which unpacks it.
 *
 * Deno embeds the library as it is, so that all of it stays in memory, and writes it to a file at each start.
 */
async function compressLibrary(home: string): Promise<void> {
  const library = await Deno.readFile(`${home}/index.node`);
  const about = JSON.parse(await Deno.readTextFile(`${home}/package.json`));
  const digest = createHash("sha256").update(library).digest("hex");
  await Deno.remove(`${home}/index.node`);
  await Deno.writeFile(`${home}/library.br`, compressed(library));
  await Deno.writeTextFile(
    `${home}/library.json`,
    JSON.stringify({ digest, bytes: library.length }),
  );
  await Deno.copyFile(new URL("load_library.cjs", import.meta.url), `${home}/index.js`);
  await Deno.writeTextFile(
    `${home}/package.json`,
    JSON.stringify({ ...about, main: "index.js" }),
  );
}

/** Brotli with a window over all of it: a sixth smaller than gzip, in 2 s (its best quality takes 20 s for a tenth more). */
function compressed(library: Uint8Array): Uint8Array {
  return brotliCompressSync(library, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    },
  });
}

/** The part of a lock file that these `npm:` specifiers lead to, for the target's system. */
function pruned(lock: Lock, specifiers: readonly string[]): Lock {
  const roots = specifiers.map((one) => /^npm:((?:@[^/]+\/)?[^/@]+@[^/]+)/.exec(one)![1]!);
  const keys = Object.keys(lock.npm);
  const npm: Record<string, Package> = {};
  const keep = (key: string) => {
    if (npm[key] !== undefined) return;
    const { optionalDependencies, ...found } = lock.npm[key]!;
    const optional = optionalDependencies?.filter(isForTarget);
    npm[key] = { ...found, ...(optional?.length ? { optionalDependencies: optional } : {}) };
    for (const name of [...found.dependencies ?? [], ...optional ?? []]) keep(keyOf(name));
  };
  // a dependency is written without its version where there is one version only
  const keyOf = (name: string) =>
    lock.npm[name] !== undefined ? name : keys.find((key) => key.startsWith(`${name}@`))!;
  const named = new Set(roots.map((root) => `npm:${root}`));
  const locked = Object.entries(lock.specifiers);
  const keyFor = ([specifier, version]: [string, string]) =>
    `${specifier.slice("npm:".length, specifier.lastIndexOf("@"))}@${version}`;
  for (const one of locked) if (named.has(one[0])) keep(keyFor(one));
  return {
    version: lock.version,
    specifiers: Object.fromEntries(locked.filter((one) => npm[keyFor(one)] !== undefined)),
    npm: Object.fromEntries(Object.entries(npm).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    workspace: { dependencies: lock.workspace.dependencies.filter((one) => named.has(one)) },
  };
}

/** The runtime is linked against glibc: libSQL built for another C library or system is not loaded. */
function isForTarget(name: string): boolean {
  if (!name.startsWith("@libsql/")) return true;
  const arm = target.startsWith("aarch64");
  const own = target.includes("windows")
    ? "win32-x64-msvc"
    : target.includes("darwin")
    ? `darwin-${arm ? "arm64" : "x64"}`
    : `linux-${arm ? "arm64" : "x64"}-gnu`;
  return name === `@libsql/${own}`;
}
