/** Runs a program to its end. */
export async function run(program: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** A port that nobody listens at. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
