/**
 * Bundles the program: few modules in place of 1,500, without what is never called, types and comments.
 */

import { build, type Plugin, transform } from "esbuild";

/** What to bundle. Paths are absolute. */
export interface BundleOptions {
  readonly main: string;
  /** Modules that are loaded by `new Worker(new URL("./NAME.ts", import.meta.url))`. */
  readonly threads: readonly string[];
  /** The program's import map. */
  readonly imports: Readonly<Record<string, string>>;
  /** A package to import when the program runs. */
  readonly unbundled: string;
  /** A `node_modules` directory with all other packages. */
  readonly packages: string;
  readonly jsxImportSource: string;
  /** The directory to write to: `main.js`, the threads under their own names, and what they share. */
  readonly output: string;
}

/** In packages these are those of Node.js, which return objects; in our modules they return numbers. */
const NODE_TIMERS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"];

/** Main files that cannot be bundled, because they hand `require` around, by what to take instead. */
const MODULES: Readonly<Record<string, string>> = {
  "jsonc-parser": "jsonc-parser/lib/esm/main.js",
};

/** What packages would import when needed, and nothing here needs: who the machine is. */
const UNUSED = /\/@opentelemetry\/resources\/.*\/machine-id\//;

/** What CommonJS modules call for parts of Node.js. */
const REQUIRE =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Characters that a source cannot hold if V8 is to use it where it is. */
const BEYOND_ASCII = /[^\0-\x7f]/g;

/** Writes the bundle of a program and its threads. */
export async function bundle(options: BundleOptions): Promise<void> {
  const { main, threads, imports, unbundled, packages, jsxImportSource, output } = options;
  const { outputFiles, metafile } = await build({
    entryPoints: [main, ...threads],
    entryNames: "[name]",
    outdir: output,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2024",
    // packages resolve as Deno resolves them: `main`, never `module`
    platform: "node",
    mainFields: ["main"],
    conditions: ["deno"],
    nodePaths: [packages],
    external: [unbundled],
    jsx: "automatic",
    jsxImportSource,
    banner: { js: REQUIRE },
    legalComments: "none",
    // names stay, for stack traces
    minifyWhitespace: true,
    lineLimit: 160,
    logLevel: "warning",
    plugins: [mapImports(imports, packages), asInNode()],
  });
  for (const { entryPoint, exports } of Object.values(metafile.outputs)) {
    // a CommonJS package that is itself imported when needed would have no names
    if (entryPoint === undefined || exports.join() !== "default") continue;
    if (UNUSED.test(entryPoint)) continue;
    throw new Error(`Cannot bundle import("${entryPoint}"): import it in a module of its own`);
  }
  const names = new Map(threads.map((path) => [
    nameOf(path).replace(/\.ts$/, ".js"),
    nameOf(path),
  ]));
  await Deno.mkdir(output, { recursive: true });
  for (const { path, text } of outputFiles) {
    const name = nameOf(path);
    await Deno.writeTextFile(`${output}/${names.get(name) ?? name}`, escaped(text));
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Escapes what the bundler leaves: comments in classes and regular expressions. V8 copies a source that is not ASCII
 * to its heap, two bytes for each character.
 */
function escaped(source: string): string {
  return source.replaceAll(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Finds packages by the program's import map. */
function mapImports(imports: Readonly<Record<string, string>>, packages: string): Plugin {
  return {
    name: "import map",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /^[@a-z]/ }, async ({ path, kind, pluginData, importer }) => {
        const mapped = imports[path];
        if (mapped === undefined || pluginData === "mapped") return undefined;
        if (MODULES[path] !== undefined && !importer.startsWith(packages)) {
          return { path, namespace: "module" };
        }
        const target = mapped.replace(/^npm:((?:@[^/]+\/)?[^/@]+)@[^/]+/, "$1");
        return await resolve(target, { resolveDir: packages, kind, pluginData: "mapped" });
      });
      onLoad({ filter: /./, namespace: "module" }, ({ path }) => ({
        // Deno offers a CommonJS module as a default export
        contents: `import * as all from "${MODULES[path]}"; export default all;`,
        resolveDir: packages,
      }));
    },
  };
}

/** Gives packages what is global in them and only there; and less text, which stays in memory. */
function asInNode(): Plugin {
  return {
    name: "packages",
    setup({ onLoad }) {
      onLoad({ filter: /node_modules\/.*\.[cm]?js$/ }, async ({ path }) => {
        const { code } = await transform(await Deno.readTextFile(path), {
          loader: "js",
          target: "es2024",
          define: Object.fromEntries(NODE_TIMERS.map((name) => [name, `nodeTimers.${name}`])),
          legalComments: "none",
          minifyWhitespace: true,
          minifySyntax: true,
        });
        if (!code.includes("nodeTimers.")) return { contents: code };
        const isModule = /(^|;)(import|export)\b/.test(code);
        const timers = isModule
          ? 'import * as nodeTimers from "node:timers";'
          : 'const nodeTimers=require("node:timers");';
        return { contents: timers + code };
      });
    },
  };
}
