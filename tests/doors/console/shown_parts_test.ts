/** Parts of pages that are shown to some and not to others, by what they depend on. */

import { OrderForms } from "../../../src/doors/console/operator/order.tsx";
import { ApproveToolPage } from "../../../src/doors/console/pages/approve_tool.tsx";
import { PasswordForm } from "../../../src/doors/console/pages/password_form.tsx";
import { Choices, type UsageChoices } from "../../../src/doors/console/usage_choices.tsx";
import { checkRefund, type Order } from "../../../src/money/payments/mod.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a password is changed where one is set, and set where that is allowed, else after signing in again", () => {
  const all = [true, false].flatMap((isSet) =>
    [true, false].flatMap((asks) => [true, false].map((mayAdd) => ({ isSet, asks, mayAdd })))
  );
  for (const { isSet, asks, mayAdd } of all) {
    const html = String(PasswordForm({ email: "a@b", csrf: "", isSet, asks, mayAdd }));
    const hasForm = isSet || mayAdd;
    const what = JSON.stringify({ isSet, asks, mayAdd });
    assertEquals(html.includes(isSet ? "Change password" : "Set a password"), true, what);
    assertEquals(html.includes('action="/console/account/password"'), hasForm, what);
    assertEquals(html.includes('name="current"'), hasForm && asks, what);
  }
});

Deno.test("the range and the grouping that are shown are marked, and what no link chooses is open", () => {
  const plain: UsageChoices = {
    by: "day",
    since: "30d",
    until: "",
    zone: "",
    tag: "",
    team: "",
    account: "",
    compare: false,
    all: false,
  };
  const seen = (some: Partial<UsageChoices>, seesAll = false) => {
    const html = String(Choices({
      choices: { ...plain, ...some },
      seesAll,
      lastMonth: ["2029-12", "2030-01"],
    }));
    const chosen = [...html.matchAll(/<a [^>]*aria-current[^>]*>([^<]*)</g)].map(([, text]) =>
      text
    );
    const fields = [...html.matchAll(/name="(\w+)"/g)].map(([, name]) => name);
    return { chosen, isOpen: /<details[^>]* open/.test(html), fields };
  };
  const fields = ["since", "until", "by", "zone", "tag"];
  const cases: readonly (readonly [Partial<UsageChoices>, string[], boolean])[] = [
    [{}, ["30 days", "by day"], false],
    [{ since: "7d", by: "model" }, ["7 days", "by model"], false],
    [{ since: "2029-12", until: "2030-01" }, ["last month", "by day"], false],
    [{ since: "2029-12" }, ["by day"], true],
    [{ until: "2030-01" }, ["by day"], true],
    [{ since: "7d", until: "2030-01" }, ["by day"], true],
    [{ by: "model,day" }, ["30 days"], true],
    [{ by: "account" }, ["30 days"], true],
    [{ by: "account", all: true }, ["30 days", "by account"], false],
    [{ by: "member", team: "T" }, ["30 days", "by member"], true],
    [{ zone: "Europe/Berlin" }, ["30 days", "by day"], true],
    [{ tag: "a=b" }, ["30 days", "by day"], true],
    [{ account: "a@b" }, ["30 days", "by day"], true],
  ];
  for (const [some, chosen, isOpen] of cases) {
    const what = JSON.stringify(some);
    const { fields: named, ...rest } = seen(some);
    assertEquals(rest, { chosen, isOpen }, what);
    assertEquals(named, some.team === undefined ? fields : [...fields, "team"], what);
  }
  assertEquals(seen({}, true).fields, [...fields, "team", "account", "all"]);
  assertEquals(seen({ compare: true }).fields, [...fields, "compare"]);
});

Deno.test("an order has the forms of what can be done about it, as it is", () => {
  const providers = ["stripe", "manual", "gift", "earlier"] as const;
  const states = [
    "open",
    "paid",
    "partly_refunded",
    "refunded",
    "disputed",
    "charged_back",
  ] as const;
  const orders = providers.flatMap((provider) =>
    states.flatMap((state) =>
      [null, 1].flatMap((paidAtMs) =>
        [null, 0, 499].flatMap((paidAmount) =>
          [0, 498, 499].flatMap((goneAmount) =>
            ["", "it differs"].map((needsLook) => ({
              ...{ id: "ord_1", currency: "usd", paymentId: "pi_1" },
              ...{ provider, state, paidAtMs, paidAmount, goneAmount, needsLook },
            } as Order))
          )
        )
      )
    )
  );
  const mayRefund = (order: Order) => {
    try {
      checkRefund(order, { reference: "r" });
    } catch {
      return false;
    }
    const isPaidHere = order.provider === "stripe" || order.provider === "manual";
    return isPaidHere && order.paidAmount! > order.goneAmount;
  };
  for (const order of orders) {
    const html = String(OrderForms({ order, csrf: "" }));
    const actions = [...html.matchAll(/action="[^"]*\/(\w+)"/g)].map(([, action]) => action!);
    assertEquals(actions, [
      ...mayRefund(order) ? ["refund"] : [],
      ...order.provider === "stripe" && order.paidAtMs === null ? ["reconcile"] : [],
      ...order.needsLook === "" ? [] : ["dismiss"],
    ], JSON.stringify(order));
    const byHand = html.includes("pay the money back yourself");
    assertEquals(byHand, mayRefund(order) && order.provider === "manual", JSON.stringify(order));
  }
});

Deno.test("the page that approves a tool names its code where it shows one", () => {
  const page = { session: undefined, csrf: "", path: "/console/device" };
  for (const code of [undefined, "ABCD-EFGH"]) {
    const html = String(ApproveToolPage({
      ...{ page, action: "/console/device", tool: "A tool", email: "a@b", facts: [] },
      fields: code === undefined ? { state: "x" } : { state: "x", code },
    }));
    assertEquals(html.includes("shows the code"), code !== undefined);
    assertEquals(html.includes("<strong>ABCD-EFGH</strong>"), code !== undefined);
  }
});
