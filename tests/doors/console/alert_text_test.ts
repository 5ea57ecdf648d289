import { AlertText } from "../../../src/doors/console/alert_text.tsx";
import { assertEquals } from "../../assert.ts";

const AT = "2026-12-01T00:00:00.000Z";
const TIME = `<time datetime="${AT}" data-show="time" title="1 Dec 2026, 00:00:00 UTC">` +
  "1 Dec 2026, 00:00:00</time>";

const shown = (text: string, data: Record<string, unknown>) =>
  AlertText({ alert: { text, data } }).toString();

Deno.test("times in texts of alerts are shown in the reader's format", () => {
  assertEquals(
    shown("It renews on 2026-12-01 00:00 UTC.", { renews_at: AT, credits: 5 }),
    `It renews on ${TIME}.`,
  );
  const until = "2026-12-02T10:30:07.123Z";
  assertEquals(
    shown("Open from 2026-12-01 00:00 UTC to 2026-12-02 10:30 UTC.", { since: AT, until }),
    `Open from ${TIME} to <time datetime="${until}" data-show="time" ` +
      `title="2 Dec 2026, 10:30:07 UTC">2 Dec 2026, 10:30:07</time>.`,
  );
});

Deno.test("a time in a name, and text that is no time, stay as they are", () => {
  assertEquals(
    shown("The key 2026-12-01 00:00 UTC of <b>", { name: "x" }),
    "The key 2026-12-01 00:00 UTC of &lt;b&gt;",
  );
  assertEquals(shown("Nothing.", { since: "2026-99-99T00:00:00Z", n: null }), "Nothing.");
  assertEquals(shown("", {}), "");
});
