import { sluice } from "../fake/shell.ts";

/** A program `sluice` for shells, which has this process run the command. */
export interface Launcher extends AsyncDisposable {
  /** Text of the program. */
  readonly text: string;
}

/**
 * Makes a launcher whose commands this process runs, in a fraction of the time that a process of their own takes. It sends
 * where it was started, its arguments and its variables, and receives status and outputs, each ended by a NUL.
 */
export function launcherHere(): Launcher {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    const calls = new Set<Promise<void>>();
    for await (const connection of listener) {
      const call = answer(connection).finally(() => calls.delete(call));
      calls.add(call);
    }
    await Promise.all(calls);
  })();
  const text = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/${listener.addr.port} || exit 70
{ printf '%s\\0' "$PWD" "$#" "$@"; env -0; printf '\\0'; } >&3
for name in code out err; do IFS= read -r -d '' -u 3 "$name" || exit 70; done
printf %s "$out"; printf %s "$err" >&2; exit "$code"
`;
  return {
    text,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

async function answer(connection: Deno.TcpConn): Promise<void> {
  using _connection = connection;
  const { directory, args, env } = await callOf(connection);
  const { code, out, err } = await sluice(args, { directory, env });
  let bytes = new TextEncoder().encode([code, out, err, ""].join("\0"));
  while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
}

/** What a launcher sends. */
async function callOf(connection: Deno.TcpConn) {
  const decoder = new TextDecoder();
  const piece = new Uint8Array(16 * 1_024);
  let text = "";
  while (!text.endsWith("\0\0")) {
    const length = await connection.read(piece);
    if (length === null) throw new Error(`A launcher has sent only ${JSON.stringify(text)}`);
    text += decoder.decode(piece.subarray(0, length), { stream: true });
  }
  const [directory = "", count, ...rest] = text.split("\0");
  const args = rest.splice(0, Number(count));
  const env = Object.fromEntries(
    rest.filter((one) => one !== "").map((one) => [
      one.slice(0, one.indexOf("=")),
      one.slice(one.indexOf("=") + 1),
    ]),
  );
  return { directory, args, env };
}
