import { TEST_CA, TEST_CERTIFICATE } from "./certificate.ts";
import type { PostgresServer } from "./postgres.ts";
import { until } from "./temp.ts";

/**
 * Has a server encrypt, and know the clients of the tests' authority. Files that it reads have to be its own.
 *
 * @returns Paths of the authority, and of a certificate of it with its key.
 */
export async function encrypt(
  server: PostgresServer,
): Promise<{ readonly ca: string; readonly cert: string; readonly key: string }> {
  const file = async (name: string, text: string) => {
    const path = `${server.socket}/${name}`;
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    if (Deno.uid() === 0) await new Deno.Command("chown", { args: ["postgres", path] }).output();
    return path;
  };
  const [ca, cert, key] = [
    await file("ca.pem", TEST_CA),
    await file("cert.pem", TEST_CERTIFICATE.cert),
    await file("key.pem", TEST_CERTIFICATE.key),
  ];
  const { errors } = await server.run(
    `alter system set ssl_ca_file = '${ca}'; alter system set ssl_cert_file = '${cert}';
      alter system set ssl_key_file = '${key}'; alter system set ssl = on; select pg_reload_conf();\n`,
  );
  if (errors.length > 0) throw new Error(errors.join("\n"));
  await until(async () => (await server.run("show ssl;\n")).rows[0] === "on");
  return { ca, cert, key };
}
