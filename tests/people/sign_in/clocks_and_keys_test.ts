/** Providers whose clock is off, whose keys change, and who say little of somebody. */

import { OidcProvider, SignInError } from "../../../src/people/sign_in/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { isolateClock } from "../../fake/isolate_clock.ts";
import { quickProvider } from "../../fake/sign_in.ts";

const REDIRECT = "http://127.0.0.1:8787/console/sign-in/oidc/company/callback";

function companyAt(issuer: string, now: () => number): OidcProvider {
  const settings = signInSettings.parse({ oidc: [{ name: "company", client: "sluice", issuer }] });
  return new OidcProvider(settings.oidc[0]!, { now });
}

async function signIn(
  company: OidcProvider,
  provider: { signIn(url: URL, subject: string): Promise<URL> },
) {
  const { url, challenge } = await company.begin(REDIRECT);
  const back = await provider.signIn(url, "s-1");
  return await company.finish(back.searchParams, challenge, REDIRECT);
}

Deno.test("clocks may differ by a minute and no more, in both directions, wherever the gateway's own stands", async () => {
  for (const offMs of [0, 40 * 86_400_000]) {
    const now = () => Date.now() + offMs;
    await using provider = await quickProvider(now);
    const company = companyAt(provider.issuer, now);
    const nowS = () => Math.floor(now() / 1_000);
    // five seconds from the bound, for a machine that is busy
    for (
      const [claim, fromNow, isTaken] of [
        ["iat", 55, true],
        ["iat", 70, false],
        ["iat", -590, true],
        ["iat", -610, false],
        ["exp", -50, true],
        ["exp", -65, false],
        ["nbf", 55, true],
        ["nbf", 70, false],
      ] as const
    ) {
      provider.people.set("s-1", { email: "a@example.com", [claim]: nowS() + fromNow });
      const what = `${claim} ${fromNow}`;
      if (isTaken) assertEquals((await signIn(company, provider)).subject, "s-1", what);
      else await assertRejects(() => signIn(company, provider), SignInError, "The provider");
    }
  }
});

Deno.test("keys that a provider changes are asked for again, at most once a minute; those that are gone sign nothing", async () => {
  const real = Date.now;
  let aheadMs = 0;
  const now = () => Date.now();
  await using provider = await quickProvider(now);
  const company = companyAt(provider.issuer, now);
  const { keys } = provider.server.issuer;
  await keys.generate("RS256", { kid: "second" });
  await keys.generate("RS256", { kid: "stranger" });
  const [all, get] = [keys.toJSON.bind(keys), keys.get.bind(keys)];
  let [signing, shown, asked] = ["first", ["first"], 0];
  keys.get = () => get(signing);
  keys.toJSON = () => {
    asked++;
    return all().filter(({ kid }) => shown.includes(String(kid)));
  };
  const signs = (kid: string) => {
    signing = kid;
    return signIn(company, provider).then(({ subject }) => subject === "s-1", (error) => {
      assert(error instanceof SignInError, String(error));
      return false;
    });
  };
  provider.people.set("s-1", { email: "a@example.com" });
  // the library looks at the isolate's own clock
  using _clock = isolateClock(() => real() + aheadMs);
  assertEquals([await signs("first"), asked], [true, 1]);
  shown = ["second"];
  // sending unknown keys makes the gateway ask the provider no more often
  for (let at = 0; at < 5; at++) assertEquals(await signs("stranger"), false);
  assertEquals(asked, 1);
  aheadMs += 61_000;
  assertEquals([await signs("second"), asked], [true, 2]);
  assertEquals([await signs("first"), await signs("stranger"), asked], [false, false, 2]);
  shown = ["second", "first"];
  aheadMs += 301_000;
  assertEquals([await signs("first"), asked], [true, 3]);
  // a key that the provider has withdrawn is believed for five minutes, and no longer
  shown = ["second"];
  aheadMs += 301_000;
  assertEquals([await signs("first"), await signs("second")], [false, true]);
});

Deno.test("what a provider says of itself is asked for once an hour, and again after it was wrong", async () => {
  let nowMs = Date.now();
  const now = () => nowMs;
  await using provider = await quickProvider(now);
  provider.people.set("s-1", { email: "a@example.com" });
  const company = companyAt(provider.issuer, now);
  let [asked, issuer] = [0, "https://elsewhere.example"];
  provider.server.service.on("beforeWellKnownOpenIdConfiguration", ({ body }) => {
    asked++;
    body.issuer = issuer;
  });
  for (let at = 1; at <= 2; at++) {
    await assertRejects(() => company.begin(REDIRECT), SignInError, "sent what does not fit");
    assertEquals(asked, at);
  }
  issuer = provider.issuer;
  for (let at = 0; at < 3; at++) await signIn(company, provider);
  assertEquals(asked, 3);
  nowMs += 3_599_000;
  await signIn(company, provider);
  assertEquals(asked, 3);
  nowMs += 1_000;
  issuer = "https://elsewhere.example";
  await assertRejects(() => company.begin(REDIRECT), SignInError, "sent what does not fit");
  assertEquals(asked, 4);
});

Deno.test("what a provider says little of is nobody's: an empty address is none, and one is verified only by its word", async () => {
  await using provider = await quickProvider();
  const company = companyAt(provider.issuer, Date.now);
  for (
    const [claims, email, isVerified] of [
      [{ email: "" }, undefined, false],
      [{ email: ["ada@example.com"] }, undefined, false],
      [{ email: "Ada@Example.com" }, "ada@example.com", false],
      // the sign of Kelvin is no K of kate@example.com, although it becomes a small one
      [{ email: "\u212Aate@example.com" }, "\u212Aate@example.com", false],
      [{ email: "ada@wor\u212A.example" }, "ada@wor\u212A.example", false],
      [{ email: "ada@example.com", email_verified: true }, "ada@example.com", true],
      [{ email: "ada@example.com", email_verified: "true" }, "ada@example.com", true],
      [{ email: "ada@example.com", email_verified: 1 }, "ada@example.com", false],
      [{ email: "ada@example.com", email_verified: "false" }, "ada@example.com", false],
      // Entra's
      [{ email: "ada@example.com", xms_edov: true }, "ada@example.com", true],
      [{ email: "ada@example.com", xms_edov: "1" }, "ada@example.com", true],
      [{ email: "ada@example.com", xms_edov: 1 }, "ada@example.com", true],
      [{ email: "ada@example.com", xms_edov: false }, "ada@example.com", false],
      [{ email: "ada@example.com", xms_edov: "0" }, "ada@example.com", false],
      [
        { email: "ada@example.com", email_verified: false, xms_edov: true },
        "ada@example.com",
        false,
      ],
    ] as const
  ) {
    provider.people.set("s-1", claims);
    const identity = await signIn(company, provider);
    assertEquals(
      [identity.email, identity.isVerified],
      [email, isVerified],
      JSON.stringify(claims),
    );
  }
});
