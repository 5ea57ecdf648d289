import { assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("the image's build has every file that it needs: what the Dockerfile copies is enough to compile", async () => {
  await using dir = await tempDir();
  const lines = (await Deno.readTextFile(`${ROOT}deploy/Dockerfile`)).split("\n");
  const copied = lines.flatMap((line) => /^COPY (?!--)(.*)$/.exec(line)?.[1] ?? []);
  for (const line of copied) {
    const words = line.split(" ");
    const to = words.pop()!;
    for (const from of words) {
      const path = to.endsWith("/") ? `${to}${from}` : to;
      await Deno.mkdir(`${dir.path}/${path.replace(/[^/]*$/, "")}`, { recursive: true });
      await Deno.symlink(`${ROOT}${from}`, `${dir.path}/${path}`);
    }
  }
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const [, lock, script] = /--lock=(\S+) .* (\S+)$/.exec(tasks.compile)!;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "--frozen", `--lock=${lock}`, script!],
    cwd: dir.path,
  }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
});
