import { assert, assertEquals } from "../../assert.ts";

const MODULE = new URL("../../../src/ground/platform/mod.ts", import.meta.url).href;

/**
 * Allocates and frees as V8's compilers do, in another thread than the main one, after a large block was freed as at start.
 * Prints how much of 24 MB is still resident.
 */
const PROGRAM = `
  const { limitFreeMemory } = await import("${MODULE}");
  const { symbols } = Deno.dlopen("libc.so.6", {
    calloc: { parameters: ["usize", "usize"], result: "pointer", nonblocking: true },
    free: { parameters: ["pointer"], result: "void", nonblocking: true },
    memset: { parameters: ["pointer", "i32", "usize"], result: "pointer", nonblocking: true },
  });
  const resident = () =>
    Number(/RssAnon:\\s+(\\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))[1]) / 1024;
  await symbols.free(await symbols.calloc(1n, 31n << 20n));
  if (Deno.args[0] === "limited") limitFreeMemory();
  const before = resident();
  const block = await symbols.calloc(1n, 24n << 20n);
  await symbols.memset(block, 1, 24n << 20n);
  const used = resident() - before;
  await symbols.free(block);
  console.log(JSON.stringify([used, resident() - before]));
`;

async function residentAfter(mode: string): Promise<readonly [used: number, kept: number]> {
  const { stdout, code } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", PROGRAM, mode],
    stderr: "inherit",
  }).output();
  assertEquals(code, 0);
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test({
  name: "memory that another thread has freed goes back to the system once it is bounded",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const [usual, limited] = await Promise.all(["usual", "limited"].map(residentAfter));
    assert(usual![0] > 20 && limited![0] > 20, `${usual} ${limited}`);
    assert(usual![1] > 15, `nothing to bound: ${usual![1]} MB were kept`);
    assert(limited![1] < 4, `${limited![1]} MB were kept`);
  },
});
