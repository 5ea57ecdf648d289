/**
 * Makes the executable: `deno task compile [--target TRIPLE] [--output FILE]`.
 *
 * `deno compile` embeds every npm package of the lock file, those for other systems as well, and all files
 * of each: types, source maps, pages, samples. All of it is in memory as long as the executable runs. So
 * that it holds what it runs and nothing else, this compiles with the part of the lock file that the
 * target needs, from a cache that holds those packages' programs; versions and digests stay those of
 * `deno.lock`.
 */
// deno-lint-ignore-file no-console -- a script for a terminal

const ROOT = new URL("../", import.meta.url);

/** Everything that `sluice` may do: it serves, keeps one file, and runs what `sluice run` is given. */
const PERMISSIONS = ["net", "read", "write", "env", "ffi", "sys", "run"].map((one) =>
  `--allow-${one}`
);

/** Loaded by name, which the compiler does not see: threads, and what browsers are sent. */
const INCLUDED = [
  "src/database/embedded_worker.ts",
  "src/large_bodies/worker.ts",
  "src/assemble/serving_thread.ts",
  "src/console/assets",
];

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
const CONFIG = [`--config=${directory}/deno.json`, `--lock=${directory}/deno.lock`, "--frozen"];
try {
  const { name, version, unstable, compilerOptions, imports } = config;
  const kept = pruned(lock, Object.values(imports));
  await write("deno.json", { name, version, unstable, compilerOptions, imports });
  await write("deno.lock", kept);
  console.log(`${Object.keys(kept.npm).length} of ${Object.keys(lock.npm).length} packages`);
  await fetchPackages();
  await smallCache(`${directory}/cache`, Object.keys(kept.npm));
  await Deno.mkdir(new URL("dist/", ROOT), { recursive: true });
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      ...CONFIG,
      "--no-check", // `deno task ok` has checked it
      ...PERMISSIONS,
      ...INCLUDED.map((path) => `--include=${path}`),
      ...(flag("--target") === undefined ? [] : [`--target=${target}`]),
      `--output=${output}`,
      "main.ts",
    ],
    cwd: ROOT,
    env: {
      DENO_DIR: `${directory}/cache`,
      RUST_MIN_STACK: "67108864", // Deno 2.4 overflows its own of 2 MB on this graph
    },
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

/** Sees to it that the usual cache has everything that the program imports. */
async function fetchPackages(): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", ...CONFIG, "main.ts", ...INCLUDED.filter(isProgram)],
    cwd: ROOT,
  }).spawn().status;
  if (code !== 0) Deno.exit(code);
}

function isProgram(path: string): boolean {
  return path.endsWith(".ts");
}

/** A cache of Deno's with the programs of these packages, as `NAME@VERSION`, out of the usual one. */
async function smallCache(to: string, packages: readonly string[]): Promise<void> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir, npmCache }: { denoDir: string; npmCache: string } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  for await (const { name: registry } of Deno.readDir(npmCache)) {
    for (const key of packages) {
      const [, name, version] = /^(@?[^@]+)@([^_]+)/.exec(key)!;
      const home = `${registry}/${name}`;
      if (!await exists(`${npmCache}/${home}/${version}`)) continue;
      await copyPrograms(`${npmCache}/${home}/${version}`, `${to}/npm/${home}/${version}`);
      const about = `${home}/registry.json`; // not asked for where the lock file says enough
      if (await exists(`${npmCache}/${about}`)) {
        await Deno.copyFile(`${npmCache}/${about}`, `${to}/npm/${about}`);
      }
    }
  }
  // The runtime for the target, if it was downloaded before; where links are not allowed it is again.
  await Deno.symlink(`${denoDir}/dl`, `${to}/dl`, { type: "dir" }).catch(() => {});
}

async function copyPrograms(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyPrograms(`${from}/${name}`, `${to}/${name}`);
    else if (LOADED.test(name)) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
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
