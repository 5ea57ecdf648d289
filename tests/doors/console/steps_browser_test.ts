/** A lead, an operator and a page that keeps itself up to date: their steps share a browser, which costs more than they do. */

import { inOneBrowser } from "../../fake/browser.ts";
import { LEAD_STEPS } from "./lead_browser.ts";
import { LIVE_STEPS } from "./live_browser.ts";
import { OPERATOR_STEPS } from "./operator_browser.ts";
import { TOOL_STEPS } from "./tool_steps_browser.ts";

inOneBrowser("leads, operators and live parts in a browser", {
  ...LEAD_STEPS,
  ...OPERATOR_STEPS,
  ...LIVE_STEPS,
  ...TOOL_STEPS,
});
