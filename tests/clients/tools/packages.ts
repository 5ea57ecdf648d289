import { joinPath } from "../../../src/ground/std/mod.ts";

/**
 * What the tools are installed from, one directory each, so that no tool gets another's dependencies. Versions are
 * exact and were at least three days old when they were written here.
 */
export const PACKAGES = {
  claude: { "@anthropic-ai/claude-code": "2.1.329" },
  opencode: { "opencode-ai": "1.18.33" },
  cline: { cline: "3.0.65" },
  codex: { "@openai/codex": "0.169.0" },
  pi: { "@mariozechner/pi-coding-agent": "0.73.1" },
  qwen: { "@qwen-code/qwen-code": "0.24.4" },
  openaiAgents: { "@openai/agents": "0.20.0", zod: "4.6.7" },
  aiSdk: { ai: "7.0.173", "@ai-sdk/openai-compatible": "3.0.92", zod: "4.6.7" },
  langchain: { "@langchain/openai": "1.6.0", "@langchain/core": "1.4.0", zod: "4.6.7" },
  llamaindex: { llamaindex: "0.12.1", "@llamaindex/openai": "0.4.23", zod: "3.25.76" },
  instructor: { "@instructor-ai/instructor": "1.7.0", openai: "4.104.0", zod: "3.25.76" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A set of packages that is installed together. */
export type PackageSet = keyof typeof PACKAGES;

/** Where everything is installed: `SLUICE_CLIENTS_CACHE`, or a directory for caches. */
export function cacheDirectory(): string {
  const { SLUICE_CLIENTS_CACHE, XDG_CACHE_HOME, HOME, LOCALAPPDATA } = Deno.env.toObject();
  return SLUICE_CLIENTS_CACHE ??
    joinPath(XDG_CACHE_HOME ?? LOCALAPPDATA ?? joinPath(HOME ?? ".", ".cache"), "sluice-clients");
}

/**
 * Installs a set unless it is there already.
 *
 * @returns The directory that holds its `node_modules`.
 */
export async function install(set: PackageSet): Promise<string> {
  const dependencies = PACKAGES[set];
  const directory = joinPath(cacheDirectory(), set);
  const manifest = JSON.stringify({
    name: "sluice-clients",
    private: true,
    type: "module",
    dependencies,
  });
  const mark = joinPath(directory, "installed.json");
  if (await Deno.readTextFile(mark).catch(() => "") === manifest) return directory;
  await Deno.remove(directory, { recursive: true }).catch(() => {});
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(joinPath(directory, "package.json"), manifest);
  const { code, stderr } = await new Deno.Command("npm", {
    args: ["install", "--no-audit", "--no-fund", "--loglevel=error"],
    cwd: directory,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (code !== 0) throw new Error(`Cannot install ${set}: ${new TextDecoder().decode(stderr)}`);
  await Deno.writeTextFile(mark, manifest);
  return directory;
}
