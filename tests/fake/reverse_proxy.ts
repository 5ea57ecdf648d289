/** Runs a program to its end. */
export async function run(program: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** The first line that a proxy sends for the handshake of a WebSocket, over TLS whatever its certificate is. */
export async function handshake(url: string, key: string): Promise<string> {
  const { host, pathname } = new URL(url);
  const client = new Deno.Command("openssl", {
    args: ["s_client", "-quiet", "-verify_quiet", "-connect", host],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = client.stdin.getWriter();
  const lines = [
    `GET ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Authorization: Bearer ${key}`,
  ];
  await writer.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const reader = client.stdout.getReader();
  const { value } = await reader.read();
  client.kill("SIGKILL");
  await Promise.allSettled([writer.close(), reader.cancel(), client.status]);
  return new TextDecoder().decode(value).split("\r\n")[0]!;
}
