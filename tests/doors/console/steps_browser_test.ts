/** A lead, an operator, a passkey, a page that keeps itself up to date, sign-in, and who buys: their steps share a browser, which costs more than they do. */

import { inOneBrowser } from "../../fake/browser.ts";
import { BUYING_STEPS } from "../../money/payments/buying_browser.ts";
import { LEAD_STEPS } from "./lead_browser.ts";
import { LIVE_STEPS } from "./live_browser.ts";
import { OPERATOR_STEPS } from "./operator_browser.ts";
import { PASSKEY_STEPS } from "./passkey_browser.ts";
import { SIGN_IN_STEPS } from "./sign_in_browser.ts";
import { TOOL_STEPS } from "./tool_steps_browser.ts";

inOneBrowser("leads, operators, passkeys, live parts, sign-in and buying in a browser", {
  ...LEAD_STEPS,
  ...OPERATOR_STEPS,
  ...PASSKEY_STEPS,
  ...LIVE_STEPS,
  ...SIGN_IN_STEPS,
  ...TOOL_STEPS,
  ...BUYING_STEPS,
});
