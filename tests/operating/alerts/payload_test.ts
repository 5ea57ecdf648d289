import { slackBody } from "../../../src/operating/alerts/payload.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a message to people names twenty alerts, how many more there are, and mentions nobody", () => {
  const alert = {
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
  const textOf = (count: number) =>
    String(JSON.parse(slackBody(Array.from({ length: count }, () => alert))).text).split("\n\n");
  const line = "*A &amp; B*\n&lt;!channel&gt;";
  assertEquals(textOf(1), [line]);
  assertEquals(textOf(20), Array.from({ length: 20 }, () => line));
  assertEquals(textOf(21).at(-1), "… and 1 more: see the console.");
  assertEquals(textOf(21).length, 21);
});
