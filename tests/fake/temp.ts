/** A directory of its own, gone when the test is over. */
export async function tempDir(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "sluice-test-" });
  return {
    path,
    async [Symbol.asyncDispose]() {
      await Deno.remove(path, { recursive: true });
    },
  };
}

/** Whether there is a file or folder. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** How long anything may take that a test waits for: a sign that it never comes, not a measure of speed. */
export const DEADLINE_MS = Number(Deno.env.get("SLUICE_TEST_DEADLINE_MS") ?? 120_000);

/** Waits until `condition` holds; fails with what did not come after `DEADLINE_MS`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { withinMs = DEADLINE_MS, what = "the condition" } = {},
): Promise<void> {
  const start = performance.now();
  while (!await condition()) {
    if (performance.now() - start > withinMs) {
      throw new Error(`${what} did not hold in ${withinMs} ms`);
    }
    await sleep(10);
  }
}

/** Waits. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What a promise comes to if it does so in time, else `late`; leaves no timer behind. */
export async function inTime<T, L>(promise: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<L>((resolve) => timer = setTimeout(() => resolve(late), ms));
  return await Promise.race([promise, over]).finally(() => clearTimeout(timer));
}
