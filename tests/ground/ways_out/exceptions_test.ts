import * as fc from "fast-check";
import { isNear, readExceptions, readProxy } from "../../../src/ground/ways_out/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

/** List, host, port, and whether the host is on the list: the rules as Go documents them in `httpproxy.Config.NoProxy`. */
const CASES: readonly (readonly [string, string, number, boolean])[] = [
  ["example.com", "example.com", 443, true],
  ["example.com", "api.example.com", 443, true],
  ["example.com", "notexample.com", 443, false],
  ["example.com", "example.com.evil.net", 443, false],
  ["example.com", "EXAMPLE.com", 443, true],
  ["Example.COM", "example.com", 443, true],
  ["example.com", "example.com.", 443, true],
  ["example.com.", "example.com", 443, true],
  [".example.com", "api.example.com", 443, true],
  [".example.com", "example.com", 443, false],
  ["*.example.com", "api.example.com", 443, true],
  ["*.example.com", "example.com", 443, false],
  ["*", "anything.net", 80, true],
  ["*", "10.0.0.1", 80, true],
  ["", "example.com", 443, false],
  [" , ,", "example.com", 443, false],
  ["other.net, example.com", "example.com", 443, true],
  ["other.net example.com", "example.com", 443, true],
  ["example.com:8443", "example.com", 8443, true],
  ["example.com:8443", "api.example.com", 8443, true],
  ["example.com:8443", "example.com", 443, false],
  ["10.1.2.3", "10.1.2.3", 80, true],
  ["10.1.2.3", "10.1.2.30", 80, false],
  ["10.1.2.3:8080", "10.1.2.3", 8080, true],
  ["10.1.2.3:8080", "10.1.2.3", 80, false],
  ["1.2.3", "10.1.2.3", 80, true], // as a domain: its suffix
  ["10.0.0.0/8", "10.200.3.4", 80, true],
  ["10.0.0.0/8", "11.0.0.1", 80, false],
  ["10.0.0.0/8", "ten.example", 80, false],
  ["10.0.0.0/99", "10.0.0.1", 80, false],
  ["fd00::/8", "fd12::1", 443, true],
  ["fd00::/8", "[fd12::1]", 443, true],
  ["fd00::/8", "fe00::1", 443, false],
  ["::1", "0:0:0:0:0:0:0:1", 443, true],
  ["[fd12::1]", "fd12:0::1", 443, true],
  ["[fd12::1]:8443", "fd12::1", 8443, true],
  ["[fd12::1]:8443", "fd12::1", 443, false],
  ["10.0.0.0/8", "::ffff:10.1.1.1", 443, true],
];

Deno.test("NO_PROXY is read as Go documents it", () => {
  for (const [list, host, port, expected] of CASES) {
    assertEquals(readExceptions(list)(host, port), expected, `${list} / ${host}:${port}`);
  }
});

const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,4}[a-z]$/);
const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join("."));
const byte = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(fc.constantFrom(10, 11), fc.constantFrom(0, 128), byte, byte);
const port = fc.constantFrom(80, 443, 8443);

/** An entry, and the rule that it means in plain words. */
interface Entry {
  readonly text: string;
  readonly holds: (host: string, port: number) => boolean;
}

const number = (bytes: readonly number[]) => bytes.reduce((sum, one) => sum * 256 + one, 0);
const bytesOf = (host: string) => /^[\d.]+$/.test(host) ? host.split(".").map(Number) : undefined;
const isWithin = (host: string, domain: string) => `.${host}`.endsWith(`.${domain}`);

const entry: fc.Arbitrary<Entry> = fc.oneof(
  name.map((domain) => ({ text: domain, holds: (host: string) => isWithin(host, domain) })),
  fc.tuple(fc.constantFrom(".", "*."), name).map(([dot, domain]) => ({
    text: `${dot}${domain}`,
    holds: (host: string) => isWithin(host, domain) && host !== domain,
  })),
  fc.tuple(name, port).map(([domain, one]) => ({
    text: `${domain}:${one}`,
    holds: (host: string, at: number) => isWithin(host, domain) && at === one,
  })),
  ipv4.map((address) => ({
    text: address.join("."),
    holds: (host: string) => host === address.join("."),
  })),
  fc.tuple(ipv4, fc.integer({ min: 1, max: 32 })).map(([network, bits]) => ({
    text: `${network.join(".")}/${bits}`,
    holds(host: string) {
      const bytes = bytesOf(host);
      const size = 2 ** (32 - bits);
      return bytes !== undefined &&
        Math.floor(number(bytes) / size) === Math.floor(number(network) / size);
    },
  })),
);

Deno.test("lists of names, suffixes, ports, addresses and ranges mean what each entry means", () => {
  const host = fc.oneof(name, ipv4.map((address) => address.join(".")));
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 4 }),
      fc.constantFrom(",", ", ", " ,", " "),
      fc.array(fc.tuple(host, port), { minLength: 1, maxLength: 4 }),
      // hosts below the names of the list, which chance would hardly find
      fc.option(label),
      (entries, separator, hosts, below) => {
        const on = readExceptions(entries.map(({ text }) => text).join(separator));
        const near = entries.map(({ text }): [string, number] => {
          const plain = text.replace(/^\*?\./, "").replace(/[:/].*$/, "");
          return [below === null || bytesOf(plain) ? plain : `${below}.${plain}`, 443];
        });
        for (const [one, at] of [...hosts, ...near]) {
          assertEquals(on(one, at), entries.some(({ holds }) => holds(one, at)), `${one}:${at}`);
        }
      },
    ),
    { numRuns: sized(300, 20_000) },
  );
});

Deno.test("this machine and link-local addresses are near, others are not", () => {
  for (
    const host of [
      "localhost",
      "LOCALHOST",
      "localhost.",
      "a.localhost",
      "127.0.0.1",
      "127.9.9.9",
      "::1",
      "[::1]",
      "::ffff:127.0.0.1",
      "169.254.169.254",
      "fe80::1",
    ]
  ) assert(isNear(host), host);
  for (const host of ["localhost.example.com", "128.0.0.1", "10.0.0.1", "::2", "example.com"]) {
    assert(!isNear(host), host);
  }
});

Deno.test("addresses of proxies are read as curl reads them; faults repeat nothing but the scheme", () => {
  const read = (text: string) => {
    const proxy = readProxy(text);
    assert(!("fault" in proxy), text);
    return [proxy.hostname, proxy.port, proxy.authorization, proxy.title];
  };
  const basic = (text: string) => `Basic ${btoa(text)}`;
  assertEquals(read("proxy.corp:3128"), ["proxy.corp", 3128, undefined, "http://proxy.corp:3128"]);
  assertEquals(read(" HTTP://Proxy.Corp/ "), ["proxy.corp", 80, undefined, "http://proxy.corp:80"]);
  assertEquals(read("http://[::1]:8080"), ["::1", 8080, undefined, "http://[::1]:8080"]);
  assertEquals(read("ada:pw@p.corp:1"), ["p.corp", 1, basic("ada:pw"), "http://p.corp:1"]);
  assertEquals(read("http://ada@p.corp:1")[2], basic("ada:"));
  assertEquals(read("http://a%40b:p%3A%25@p.corp:1")[2], basic("a@b:p:%"));
  for (
    const [text, why] of [
      ["socks5://u:hidden@proxy:1080", /SOCKS proxies are not supported/],
      ["socks5h://proxy", /SOCKS/],
      ["https://u:hidden@proxy", /TLS to the proxy itself is not supported/],
      ["ftp://u:hidden@proxy", /the scheme ftp:\/\/ is not supported/],
      ["http://u:hid/den@proxy:1", /written %40/],
      ["http://u:hid%den@proxy:1", /written %40/],
      ["http://proxy:99999", /written %40/],
      ["http://proxy:3128/path", /without a path/],
      ["http://proxy?x=hidden", /without a path/],
      ["", /written/],
      ["none of it", /written|path/],
    ] as const
  ) {
    const proxy = readProxy(text);
    assert("fault" in proxy, text);
    assert(why.test(proxy.fault), `${text}: ${proxy.fault}`);
    assert(!proxy.fault.includes("hidden"), proxy.fault);
  }
});
