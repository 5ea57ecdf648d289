import { networkErrorWords } from "../../../src/ground/platform/mod.ts";
import { assertEquals } from "../../assert.ts";

const EXPECTED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ENOTFOUND: "the host name is unknown",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  UND_ERR_HEADERS_TIMEOUT: "no response in time",
  UND_ERR_SOCKET: "the connection was closed early",
  HPE_INVALID_CONSTANT: "the response is not valid HTTP",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate is not trusted",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is not trusted",
  CERT_HAS_EXPIRED: "the certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  ERR_SSL_WRONG_VERSION_NUMBER: "TLS failed",
};

Deno.test("codes of sockets, TLS and undici have words, without the address", () => {
  for (const [code, words] of Object.entries(EXPECTED)) {
    const error = Object.assign(new Error(`connect ${code} secret.example:443`), { code });
    assertEquals(networkErrorWords(error), words, code);
  }
});

Deno.test("certificate errors without a code have words, others have none", () => {
  const words = (message: string) => networkErrorWords(new TypeError(message));
  assertEquals(words("invalid peer certificate: Expired"), "the certificate has expired");
  assertEquals(
    words("invalid peer certificate: NotValidForName"),
    "the certificate is for another host name",
  );
  assertEquals(words("invalid peer certificate: UnknownIssuer"), "the certificate is not trusted");
  assertEquals(words("whatever"), undefined);
  assertEquals(networkErrorWords({ code: "constructor" }), undefined);
  assertEquals(
    networkErrorWords(Object.assign(new Error("x"), { code: "constructor" })),
    undefined,
  );
});

Deno.test("every code by which a request counts as not sent has words", async () => {
  const source = await Deno.readTextFile(
    new URL("../../../src/requests/upstreams/incoming_reply.ts", import.meta.url),
  );
  const codes = [...source.matchAll(/"((?:E|UND_ERR_|[A-Z]+_)[A-Z_]+)"/g)].map(([, code]) => code!);
  assertEquals(codes.length > 10, true);
  for (const code of codes) {
    assertEquals(typeof networkErrorWords(Object.assign(new Error(""), { code })), "string", code);
  }
});
