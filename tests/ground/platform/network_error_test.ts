import { networkErrorWords } from "../../../src/ground/platform/mod.ts";
import { HttpFault } from "../../../src/ground/http1/mod.ts";
import { ProxyFault } from "../../../src/ground/ways_out/mod.ts";
import { assertEquals } from "../../assert.ts";

const EXPECTED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ETIMEDOUT: "no connection in time",
  ENOTFOUND: "the host name is unknown",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate is not trusted",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is not trusted",
  CERT_HAS_EXPIRED: "the certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  ERR_SSL_WRONG_VERSION_NUMBER: "TLS failed",
};

Deno.test("codes of sockets and TLS have words, without the address", () => {
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
  assertEquals(
    words("proto error: io error: Network is unreachable (os error 101)"), // of `Deno.resolveDns`
    "the host name could not be looked up",
  );
  assertEquals(words("whatever"), undefined);
  assertEquals(networkErrorWords({ code: "constructor" }), undefined);
  assertEquals(
    networkErrorWords(Object.assign(new Error("x"), { code: "constructor" })),
    undefined,
  );
});

Deno.test("faults of the HTTP client and of proxies say themselves what they are", () => {
  for (
    const fault of [
      new HttpFault("ERR_REPLY_CLOSED", "closed"),
      new ProxyFault("ERR_PROXY_REFUSED", "refused"),
    ]
  ) {
    assertEquals(networkErrorWords(fault), fault.message);
  }
});
