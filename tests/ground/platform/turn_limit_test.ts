import { assertEquals, assertMatch } from "../../assert.ts";
import { startChild } from "../../fake/child_gateway.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";

const ignore = Deno.build.os !== "linux";
const MODULE = new URL("../../../src/ground/platform/mod.ts", import.meta.url).href;

/** Runs code in a process whose turns may take 400 ms of the processor; `busy()` takes as many as it is told. */
async function run(code: string): Promise<{ signal: Deno.Signal | null; out: string }> {
  const program = `import process from "node:process";
    import { limitTurns } from ${JSON.stringify(MODULE)};
    const limit = limitTurns(400);
    const usedMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1_000; };
    const busy = (ms) => {
      for (const end = usedMs() + ms; usedMs() < end;) for (let n = 0; n < 10_000; n++);
    };
    const turn = () => new Promise((resolve) => setTimeout(resolve, 5));
    ${code}`;
  const { signal, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--ext=ts", "--no-check", program],
    cwd: new URL("../../../", import.meta.url),
    stderr: "null",
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).output();
  return { signal, out: new TextDecoder().decode(stdout).trim() };
}

Deno.test({
  name: "a process whose thread hangs is ended by the system",
  ignore,
  fn: async () => {
    assertEquals(await run(`await turn(); console.log("began"); busy(1e9);`), {
      signal: "SIGVTALRM",
      out: "began",
    });
  },
});

Deno.test({
  name:
    "a process that is busy for long lives while its turns end, and after the limit was taken back",
  ignore,
  fn: async () => {
    const long = `for (let at = 0; at < 5; at++) { busy(120); await turn(); }
      limit[Symbol.dispose]();
      busy(600);
      console.log("alive");`;
    assertEquals(await run(long), { signal: null, out: "alive" });
  },
});

Deno.test({
  name: "a gateway has a limit for its main thread",
  ignore,
  fn: async () => {
    await using gateway = await startChild();
    // a program of its own, since Deno reads /proc only with all permissions
    const timers = new Deno.Command("cat", { args: [`/proc/${gateway.process.pid}/timers`] });
    const { stdout } = await timers.output();
    assertMatch(new TextDecoder().decode(stdout), /signal: 26\//);
  },
});
