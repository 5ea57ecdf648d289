/**
 * Runs programs of the pages, one after the other in one process: loading a provider's package takes most of their time.
 *
 * Posted to it: the file and the variables of a program. It replies when the program has ended, with what went wrong.
 */

import { say } from "../fake/command.ts";

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  const { file, env } = await request.json();
  for (const [name, value] of Object.entries<string>(env)) Deno.env.set(name, value);
  try {
    await import(file);
    return new Response();
  } catch (error) {
    return new Response(error instanceof Error ? error.stack : String(error), { status: 500 });
  }
});
say(`http://127.0.0.1:${server.addr.port}`);
