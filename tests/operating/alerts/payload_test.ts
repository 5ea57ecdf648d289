import { slackBody } from "../../../src/operating/alerts/payload.ts";
import { assert, assertEquals } from "../../assert.ts";

const ALERT = {
  id: "alert_1",
  mark: "test:1",
  kind: "test",
  accountId: null,
  teamId: null,
  title: "A & B",
  text: "<!channel>",
  data: {},
  createdAtMs: 0,
} as const;

Deno.test("a name mentions nobody and hides no link, in Slack and in Mattermost", () => {
  const written = (title: string) =>
    String(JSON.parse(slackBody([{ ...ALERT, title, text: "" }])).text).split("\n")[0]!.slice(
      1,
      -1,
    );
  for (const name of ["@channel", "a @all b", "(@here)", "@ada", ".@channel", "_@channel"]) {
    assertEquals(written(name).replace("@\u2060", "@"), name);
    assert(!/@[a-z]/.test(written(name)), name);
  }
  assertEquals(written("[pay here](https://evil.example)"), "[pay here] (https://evil.example)");
  assertEquals(written("![x](https://evil.example)"), "![x] (https://evil.example)");
  assertEquals(written("<!channel> <https://a|b>"), "&lt;!channel&gt; &lt;https://a|b&gt;");
  assertEquals(written("Low credits: ada@example.com"), "Low credits: ada@example.com");
});

Deno.test("a message to people names twenty alerts, how many more there are, and mentions nobody", () => {
  const textOf = (count: number) =>
    String(JSON.parse(slackBody(Array.from({ length: count }, () => ALERT))).text).split("\n\n");
  const line = "*A &amp; B*\n&lt;!channel&gt;";
  assertEquals(textOf(1), [line]);
  assertEquals(textOf(20), Array.from({ length: 20 }, () => line));
  assertEquals(textOf(21).at(-1), "… and 1 more: see the console.");
  assertEquals(textOf(21).length, 21);
});
