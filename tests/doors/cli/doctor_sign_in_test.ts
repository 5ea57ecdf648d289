import { assertEquals } from "../../assert.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("doctor reads what each provider of sign-in says of itself, unless it is to look at this machine alone", async () => {
  await using dir = await tempDir();
  await using provider = await startProvider({ redirectUris: () => ["http://127.0.0.1/"] });
  const of = (name: string, issuer: string) => ({ name, issuer, client: "sluice" });
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({
      signIn: {
        oidc: [
          of("good", provider.issuer),
          of("renamed", provider.issuer.replace("127.0.0.1", "localhost")),
          of("elsewhere", `${provider.issuer}/realm`),
          of("away", "http://127.0.0.1:1"),
        ],
      },
    }),
  );
  const look = async (...args: string[]) => {
    const { out } = await sluice(["doctor", "--json", ...args], { directory: dir.path });
    const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
    return findings.filter(({ check }) => check!.startsWith("sign-in "))
      .map(({ check, state, detail }) => [check, state, detail!.split(": ")[0]]);
  };
  assertEquals(await look(), [
    ["sign-in good", "ok", `${new URL(provider.issuer).host} describes itself as the issuer`],
    ["sign-in renamed", "failed", "The provider renamed sent what does not fit"],
    ["sign-in elsewhere", "failed", "The provider elsewhere sent what does not fit"],
    ["sign-in away", "failed", "The provider away cannot be reached"],
  ]);
  assertEquals(await look("--local"), []);
});
