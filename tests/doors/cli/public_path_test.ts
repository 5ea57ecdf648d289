import { assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { freePort } from "../../fake/free_port.ts";
import { serveHere, sluice } from "../../fake/shell.ts";
import { statusOf } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("start-up text, env, links and doctor of a gateway below a path name addresses that work", async () => {
  await using dir = await tempDir();
  const port = `${freePort()}`;
  const url = `http://127.0.0.1:${port}/team/gateway`;
  const options = { directory: dir.path, env: { SLUICE_PUBLIC_URL: `${url}/` } };
  await using process = serveHere(["--port", port], options);
  const [, link] = await process.waitFor(/console +(\S+\/console\/link\/\w+)/);
  const [, curl] = await process.waitFor(/^ *(curl \S+\/v1\/messages .*)$/m);
  const commandLink = await sluice(["account", "link"], options);
  for (const one of [link!, commandLink.out.trim().split(/\s/).at(-1)!]) {
    assertStringIncludes(one, `${url}/console/link/`);
    assertEquals(await statusOf(fetch(one, { redirect: "manual" })), 303);
  }
  const { stdout } = await new Deno.Command("bash", { args: ["-c", `${curl} -s`] }).output();
  assertStringIncludes(new TextDecoder().decode(stdout), '"type":"message"');

  const { code, out, err } = await sluice(["env"], options);
  assertEquals(code, 0, err);
  assertStringIncludes(out, `OPENAI_BASE_URL='${url}/v1'`);
  assertStringIncludes(out, `ANTHROPIC_BASE_URL='${url}'`);
  const doctor = await sluice(["doctor"], options);
  assertMatch(doctor.out, new RegExp(`gateway +running at http://127.0.0.1:${port}$`, "m"));
  assertEquals((await sluice(["doctor", "--running"], options)).code, 0);
});
