/** A v1 hierarchy without a limit has the largest number of pages. */
const UNLIMITED_BYTES = 2 ** 60;

let found: Promise<number> | undefined;

/**
 * Finds out how much memory this process may use: the limit of its control group on Linux, or else the machine's memory.
 * Looks once: groups of processes seldom change.
 *
 * @returns Bytes.
 */
export function memoryLimitBytes(): Promise<number> {
  return found ??= find();
}

async function find(): Promise<number> {
  const { total } = Deno.systemMemoryInfo();
  if (Deno.build.os !== "linux") return total;
  const limits = limitFiles(await printed("/proc/self/cgroup"));
  const texts = limits.length === 0 ? "" : await printed(...limits);
  const numbers = texts.split("\n").filter((line) => /^\d+$/.test(line)).map(Number);
  return Math.min(total, ...numbers.filter((bytes) => bytes > 0 && bytes < UNLIMITED_BYTES));
}

/**
 * Lists the files that may hold a limit: of the group and of all above it, in version 2 and in version 1 (cgroups(7)).
 *
 * @param groups Text of `/proc/self/cgroup`.
 */
export function limitFiles(groups: string): string[] {
  return groups.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    if (controllers === "") {
      return upwards(path).map((one) => `/sys/fs/cgroup${one}/memory.max`);
    }
    return controllers!.split(",").includes("memory")
      ? upwards(path).map((one) => `/sys/fs/cgroup/memory${one}/memory.limit_in_bytes`)
      : [];
  });
}

/** A path and those above it, without slashes at the end. */
function upwards(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "");
  return Array.from(
    { length: parts.length + 1 },
    (_, at) => parts.slice(0, parts.length - at).map((part) => `/${part}`).join(""),
  );
}

/**
 * Texts of files of the kernel, one after the other; those that cannot be read are left out. A program of the system reads them, as
 * Deno's permission to read leaves them out.
 */
export async function printed(...paths: string[]): Promise<string> {
  try {
    const command = new Deno.Command("cat", { args: paths, stdin: "null", stderr: "null" });
    return new TextDecoder().decode((await command.output()).stdout);
  } catch {
    return ""; // no such program, or not permitted
  }
}
