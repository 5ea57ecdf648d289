/**
 * Parts of pages, each in the states that it can be in, say what their outlines say: also the states that no page of
 * `outlines_test.ts` is in. `SLUICE_WRITE_OUTLINES=1` writes the outlines again: what has changed is then read as a change of
 * `part_outlines/`.
 */

import { Chart } from "../../../src/doors/console/chart.tsx";
import { BudgetBar, Budgets } from "../../../src/doors/console/budgets.tsx";
import { Layout, noticeOf } from "../../../src/doors/console/layout.tsx";
import { Name, Names, shortened } from "../../../src/doors/console/name.tsx";
import { RouteEditPage } from "../../../src/doors/console/operator/route_edit_page.tsx";
import { valuesOf } from "../../../src/doors/console/operator/route_form.ts";
import { AccountDetailPage } from "../../../src/doors/console/operator/account.tsx";
import { RowKey } from "../../../src/doors/console/operator/object_names.tsx";
import { UpstreamSummary } from "../../../src/doors/console/operator/upstream_table.tsx";
import { UsageParts } from "../../../src/doors/console/operator/overview_usage.tsx";
import { AccountPage } from "../../../src/doors/console/pages/account.tsx";
import { CreditStatementSection } from "../../../src/doors/console/pages/credit_statement.tsx";
import { EntryTable } from "../../../src/doors/console/pages/credit_entries.tsx";
import { HomePage } from "../../../src/doors/console/pages/home.tsx";
import { KeyTable } from "../../../src/doors/console/pages/key_table.tsx";
import { KeysPage } from "../../../src/doors/console/pages/keys.tsx";
import { ModelsPage } from "../../../src/doors/console/pages/models.tsx";
import { NoticesPage } from "../../../src/doors/console/pages/notices.tsx";
import { OrderPage, OrderTable, ReceiptPage } from "../../../src/doors/console/pages/orders.tsx";
import { OwnKeys } from "../../../src/doors/console/pages/own_keys.tsx";
import { Debt, Packages } from "../../../src/doors/console/pages/packages.tsx";
import { StatementPage } from "../../../src/doors/console/pages/payment_statement.tsx";
import { RequestPage } from "../../../src/doors/console/pages/request.tsx";
import { queryOf, RequestsPage } from "../../../src/doors/console/pages/requests.tsx";
import { RegisterPage, SignInPage } from "../../../src/doors/console/pages/sign_in.tsx";
import { TeamPage } from "../../../src/doors/console/pages/team.tsx";
import { MemberTable } from "../../../src/doors/console/pages/team_members.tsx";
import { TeamsPage } from "../../../src/doors/console/pages/teams.tsx";
import { ToolTable } from "../../../src/doors/console/pages/tools.tsx";
import { Sparkline } from "../../../src/doors/console/sparkline.tsx";
import { Table } from "../../../src/doors/console/table.tsx";
import { Stat } from "../../../src/doors/console/components.tsx";
import {
  BUDGET_SET,
  KEY_REVOKE,
  KEY_UPDATE,
  MEMBER_ADD,
  MEMBER_ROLE,
  ORDER_CREATE,
  TEAM_UPDATE,
  type WriteOperation,
} from "../../../src/operating/operations/mod.ts";
import { assertEquals } from "../../assert.ts";
import { outlineOf, sumOf } from "./outline.ts";

const FOLDER = new URL("part_outlines/", import.meta.url);
const isWriting = Deno.env.get("SLUICE_WRITE_OUTLINES") === "1";
const NOW = Date.UTC(2026, 5, 15, 12);
const [HOUR, DAY] = [3_600_000, 86_400_000];
const LONG = "a-name-that-is-longer-than-others-are-0123456789";

// deno-lint-ignore no-explicit-any -- only the members that a part reads
type Things = any;

const account = (more: Things = {}) => ({
  id: "acc_1",
  email: "ada@example.com",
  name: "Ada",
  role: "none",
  kind: "person",
  createdAtMs: NOW - 100 * DAY,
  disabledAtMs: null,
  ...more,
});
const session = (more: Things = {}, teams: Things = []) => ({
  account: account(more),
  teams: new Map(teams),
  csrfToken: "csrf",
  byLink: false,
  isRecent: false,
});
const page = (path: string, more: Things = {}) => ({
  session: session(),
  csrf: "csrf",
  path: `/console/${path}`,
  ...more,
});
const key = (more: Things = {}) => ({
  id: "key_1",
  name: "laptop",
  hint: "sk-…1",
  accountId: "acc_1",
  teamId: null,
  memberId: null,
  models: null,
  atOnce: null,
  createdAtMs: NOW - 90 * DAY,
  expiresAtMs: null,
  revokedAtMs: null,
  previousUntilMs: null,
  ...more,
});
const budget = (more: Things = {}) => ({
  id: "budget",
  owner: "key",
  ownerId: "key_1",
  period: "month",
  zone: "UTC",
  credits: 100,
  raise: null,
  spent: 10,
  held: 0,
  left: 90,
  marks: [50, 80],
  startsAtMs: NOW - DAY,
  renewsAtMs: NOW + DAY,
  ...more,
});
const team = (more: Things = {}) => ({
  id: "team_1",
  name: "Platform",
  poolId: "acc_9",
  models: null,
  disabledAtMs: null,
  ownKeyUse: "first",
  ...more,
});
const order = (more: Things = {}) => ({
  id: "ord_1",
  accountId: "acc_1",
  packageName: "Starter",
  credits: 500,
  amount: 499,
  paidAmount: null,
  goneAmount: 0,
  currency: "usd",
  state: "open",
  provider: "stripe",
  reference: "INV-1",
  livemode: true,
  paymentId: null,
  paidAtMs: null,
  createdAtMs: NOW - HOUR,
  sessionUrl: "https://pay.example/1",
  receipt: null,
  needsLook: "",
  ...more,
});
const record = (more: Things = {}) => ({
  requestId: "req_1",
  accountId: "acc_1",
  keyId: "key_1",
  dialect: "chat",
  route: "m",
  upstream: "one",
  upstreamModel: "x",
  attempts: 1,
  attemptList: undefined,
  status: 200,
  ending: "complete",
  streamed: true,
  reason: null,
  message: null,
  usageSource: "upstream",
  ownKey: null,
  inputTokens: 1_000,
  cachedTokens: 100,
  outputTokens: 90,
  reasoningTokens: 0,
  startedAtMs: NOW - HOUR,
  firstTokenMs: 100,
  durationMs: 1_000,
  priceCredits: 3,
  extraCredits: 0,
  chargedCredits: 3,
  ignored: "",
  prices: { input: 1_000, cached: 100, output: 10_000, minimum: 1 },
  details: {},
  tags: null,
  ...more,
});
const route = (more: Things = {}) => ({
  id: "m",
  displayName: "m",
  kind: "generation",
  context: 200_000,
  maxInput: 100_000,
  maxOutput: 8_000,
  minimum: 1,
  prices: { input: 1_000, cached: 1_000, output: 10_000 },
  tools: false,
  images: "none",
  reasoning: "none",
  efforts: [],
  dimensions: undefined,
  ...more,
});
const figures = (more: Things = {}) => ({
  requests: 10,
  errors: 0,
  input_tokens: 1_000,
  cached_tokens: 100,
  output_tokens: 90,
  saved_credits: 0,
  average_ms: 900,
  credits: 30,
  cache_hit_rate: 0.1,
  ...more,
});

/** A part in a state: what of it is another, and what it is then. */
type State = readonly [what: string, part: unknown];

/** The states that differ from one by some properties. */
function states<Props>(
  part: (props: Props) => unknown,
  props: Things,
  others: Readonly<Record<string, Things>>,
): readonly State[] {
  return Object.entries({ "as it is": {}, ...others })
    .map(([what, more]) => [what, part({ ...props, ...more })]);
}

const all = () => true;
const none = () => false;
const only = (...operations: readonly WriteOperation[]) => (operation: WriteOperation) =>
  operations.includes(operation);

const KEYS = [
  key({ id: "key_1", models: [], atOnce: 5, previousUntilMs: NOW + HOUR }),
  key({ id: "key_2", hint: "sk-…2", models: ["a"], previousUntilMs: NOW }),
  key({ id: "key_3", name: "", hint: "sk-…3", models: ["a", "b", "c", "d"] }),
  key({ id: "key_4", name: "soon", expiresAtMs: NOW + 2 * DAY }),
  key({ id: "key_5", name: "later", expiresAtMs: NOW + 2 * DAY + 1 }),
  key({ id: "key_6", name: "expired now", expiresAtMs: NOW }),
  key({ id: "key_7", name: "revoked", revokedAtMs: NOW - DAY, expiresAtMs: NOW - 9 * DAY }),
  key({ id: "key_8", name: "of a team", teamId: "team_1", memberId: "acc_1" }),
  key({ id: "key_9", name: "of all", teamId: "team_2", accountId: "acc_9" }),
];
const MADE = { secret: "sk-secret", models: ["a", "b"] };
const KEYS_VIEW = {
  keys: KEYS,
  budgets: new Map([["key_1", [budget()]], ["key_7", [budget()]]]),
  lastUse: new Map([["key_1", NOW - HOUR]]),
  spent: new Map([["key_1", 1_234]]),
  models: ["a", "b"],
  nowMs: NOW,
};
const KEY_TABLE = { ...KEYS_VIEW, csrf: "csrf", action: "/console/keys", mayChange: all };
const may = (...operations: readonly WriteOperation[]) => ({
  mayChange: (_key: unknown, operation: WriteOperation) => operations.includes(operation),
});

const member = (id: string, more: Things = {}) => ({
  accountId: `acc_${id}`,
  email: `${id}@example.com`,
  role: "member",
  stoppedAtMs: null,
  disabledAtMs: null,
  ...more,
});
const used = (memberId: string | null, model: string, credits: number) => ({
  memberId,
  model,
  key: "key_1",
  requests: 1,
  credits,
});
const TEAM = {
  page: page("teams/team_1"),
  team: team(),
  balance: 500,
  members: [
    member("lead", { role: "lead" }),
    member("bob"),
    member("stopped", { stoppedAtMs: NOW }),
    member("off", { disabledAtMs: NOW, stoppedAtMs: NOW }),
  ],
  names: new Map([["acc_gone", "gone@example.com"]]),
  usage: [
    used("acc_bob", "a", 1),
    used("acc_bob", "b", 9),
    used("acc_bob", "a", 3),
    used("acc_bob", "c", 2),
    used("acc_bob", "d", 1),
    used("acc_lead", "a", 5),
    used("acc_gone", "a", 2),
    used("acc_lost", "a", 2),
    used(null, "a", 7),
  ],
  budgets: [budget({ owner: "team" })],
  memberBudgets: new Map([
    ["acc_bob", [budget({ owner: "member" })]],
    ["acc_kept", [budget({ owner: "member" })]],
  ]),
  keyBudgets: new Map(),
  keys: KEYS.slice(-2),
  lastUse: new Map(),
  lastUseByMember: new Map<string | null, number>([["acc_bob", NOW - HOUR], [null, NOW - DAY]]),
  spent: new Map(),
  models: ["a", "b"],
  ownKeys: { keys: [], upstreams: ["one"], use: "first" },
  mayOperate: all,
  mayChange: all,
  mayMakeFor: all,
  self: account({ id: "acc_bob" }),
  may: all,
  address: "https://sluice.example",
  nowMs: NOW,
};

const FILTER = {
  q: "",
  range: "",
  from: "",
  to: "",
  zone: "",
  model: "",
  key: "",
  status: "",
  tag: "",
};
const FAILED = record({
  requestId: "req_2",
  ending: "upstream_failed",
  status: 503,
  reason: "upstream_unavailable",
  message: "None.",
  inputTokens: 0,
  outputTokens: 0,
  firstTokenMs: null,
  priceCredits: 0,
  chargedCredits: 0,
});
const REQUESTS = {
  page: page("requests"),
  records: [
    record(),
    FAILED,
    record({ requestId: "req_3", ending: "refused", status: 400, reason: "request_invalid" }),
    record({ requestId: "req_4", ending: "client_left", keyId: "key_x", outputTokens: 3 }),
    record({ requestId: "req_5", ending: "client_left", reason: "client_disconnected" }),
  ],
  filter: FILTER,
  models: ["m", "n"],
  keys: [key()],
  more: undefined,
  searchedToMs: undefined,
  error: undefined,
  isLive: true,
  isFirst: true,
  seenMs: NOW,
};

const LOTS = [
  { id: "lot_1", source: "signup", note: "", granted: 9, remaining: 5, expiresAtMs: NOW + DAY },
  { id: "lot_2", source: "grant", note: "A gift", granted: 9, remaining: 1, expiresAtMs: null },
  {
    ...{ id: "lot_3", source: "package", note: "", granted: 9, remaining: 9 },
    expiresAtMs: NOW + 30 * DAY,
  },
  {
    ...{ id: "lot_4", source: "grant", note: "", granted: 9, remaining: 2 },
    expiresAtMs: NOW + 30 * DAY + 1,
  },
].map((lot, at) => ({ ...lot, models: at === 2 ? ["a", "b"] : null }));
const CREDITS = {
  balance: 17,
  held: 0,
  consumed: 83,
  requests: 10,
  inputTokens: 900,
  outputTokens: 90,
  lots: LOTS,
};
const WINDOW = { span: "minute", used: 0, limit: 60, of: "key" };
const pool = (id: string, more: Things = {}) => ({
  team: team({ id: `team_${id}`, name: id }),
  balance: 100,
  keys: 1,
  month: { credits: 9, requests: 1 },
  usedAtMs: NOW - DAY,
  mayBuy: false,
  ...more,
});
const HOME = {
  page: page(""),
  credits: CREDITS,
  perUsd: undefined,
  rate: {
    days: 7,
    creditsPerDay: 5,
    daysLeft: 3,
    lastsLonger: false,
    unspent: new Map([["lot_1", 4]]),
  },
  today: { credits: 3, requests: 1 },
  month: {
    credits: 9,
    requests: 3,
    before: 4,
    beforeSinceMs: NOW - 45 * DAY,
    beforeUntilMs: NOW - 30 * DAY,
  },
  inFlight: 1,
  debt: 0,
  points: [],
  limits: [
    { key: undefined, window: { ...WINDOW, used: 90, of: "account" } },
    { key: key(), window: { ...WINDOW, used: 6 } },
  ],
  tier: [WINDOW, { ...WINDOW, span: "hour", limit: 600 }],
  budgets: [],
  keys: [key()],
  pools: [],
  models: 3,
  nowMs: NOW,
};
const UNUSED = { ...CREDITS, requests: 0 };

const STATEMENT = {
  month: "2026-05",
  fromMs: Date.UTC(2026, 4, 1),
  opening: 5,
  closing: 17,
  granted: 20,
  charged: 6,
  expired: 1,
  takenBack: 0,
  lines: [
    { kind: "grant", atMs: Date.UTC(2026, 4, 2), isDay: false, credits: 20, balance: 25 },
    { kind: "expire", atMs: Date.UTC(2026, 4, 3), isDay: true, credits: -1, balance: 24 },
    { kind: "charges", atMs: Date.UTC(2026, 4, 4), isDay: true, credits: -2, balance: 22 },
    { kind: "charges", atMs: Date.UTC(2026, 4, 5), isDay: true, credits: -4, balance: 18 },
  ].map((line, at) => ({
    ...line,
    requests: at,
    entries: 7,
    models: [{ model: "a", requests: 2, credits: -3 }, { model: LONG, requests: 1, credits: -1 }]
      .slice(0, at - 1),
    ...at === 0 ? { entry: { kind: "grant", note: "A gift", source: "grant" } } : {},
  })),
};
const MONTHS = [Date.UTC(2026, 5), Date.UTC(2026, 4), Date.UTC(2026, 3)];
const entry = (kind: string, more: Things = {}) => ({
  kind,
  atMs: NOW,
  causeId: "req_1",
  reason: "a mistake",
  lotId: "lot_1",
  note: "",
  source: "package",
  credits: -5,
  ...more,
});

const OFFER = { id: "starter", name: "Starter", credits: 500, priceUsd: 5, validDays: 30 };
const SHOP = {
  csrf: "csrf",
  isOnline: true,
  isTest: false,
  prices: new Map([["starter", 499], ["big", null]]),
  currency: "usd",
  contact: "sales@example.com",
  debtCredits: 0,
  isDisputed: false,
  orders: [],
  topUp: undefined,
  team: undefined,
  mayBuy: true,
  payers: [],
};
const SOLD = {
  packages: [
    OFFER,
    { id: "big", name: "Big", credits: 9_000, priceUsd: 50, validDays: null, models: ["a", "b"] },
    { id: "other", name: "Other", credits: null, priceUsd: null, validDays: null },
  ],
  shop: SHOP,
};
const shop = (more: Things) => ({ shop: { ...SHOP, ...more } });
const topUp = (more: Things = {}) => ({
  isOn: true,
  stopped: "",
  stoppedAtMs: null,
  hasMethod: true,
  belowCredits: 7,
  packageId: "starter",
  maxPerMonth: 2,
  ...more,
});
const VIEW = {
  order: order(),
  buyer: "ada@example.com",
  isTeam: false,
  credits: "/console/credits",
  mayPay: true,
  isOthers: false,
};
const view = (more: Things, other: Things = {}) => ({
  view: { ...VIEW, ...other, order: order(more) },
});

const notice = (more: Things = {}) => ({
  id: "alert_1",
  title: "Low credits: ada@example.com",
  text:
    "ada@example.com has 1 credit left. 5 credits of ada@example.com expire. See ada@example.com.",
  data: {},
  createdAtMs: NOW - HOUR,
  readAtMs: null,
  accountReadAtMs: null,
  deliveries: [],
  ...more,
});
const NOTICES = {
  page: page("notices"),
  title: "Notices",
  action: "/console/notices",
  notices: [notice(), notice({ id: "alert_2", accountReadAtMs: NOW })],
  nowMs: NOW,
  isRead: ({ accountReadAtMs }: Things) => accountReadAtMs !== null,
  shows: "nothing else",
};
const delivery = (state: string, error: string | null) => ({
  receiver: "ops",
  state,
  attempts: 3,
  error,
});

const SIGN_IN = {
  sessions: [
    {
      ...{ id: "s1", isOwn: true, address: "192.0.2.1", agent: "Firefox/1", provider: null },
      ...{ isByPasskey: false, createdAtMs: NOW - DAY, expiresAtMs: NOW + DAY },
    },
    {
      ...{ id: "s2", isOwn: false, address: null, agent: null, provider: null, isByPasskey: true },
      ...{ createdAtMs: NOW - DAY, expiresAtMs: NOW + DAY },
    },
    {
      ...{ id: "s3", isOwn: false, address: null, agent: "Chrome/1 Edg/1", provider: "company" },
      ...{ isByPasskey: false, createdAtMs: NOW - DAY, expiresAtMs: NOW + DAY },
    },
  ],
  links: [{ provider: "company", issuer: "https://i", subject: "ada", linkedAtMs: NOW - DAY }],
  providers: ["company"],
  passkeys: [
    { id: "p1", name: "laptop", createdAtMs: NOW - DAY, usedAtMs: null },
    { id: "p2", name: "phone", createdAtMs: NOW - DAY, usedAtMs: NOW - HOUR },
  ],
};

const DETAIL = {
  page: page("operator/accounts/acc_1", { session: session({ role: "owner" }) }),
  seesKeys: true,
  mayOperate: all,
  mayRevoke: all,
  account: account(),
  credits: CREDITS,
  debt: 0,
  teams: [
    { teamId: "team_1", teamName: "Platform", role: "lead", isStopped: false },
    { teamId: "team_2", teamName: "Other", role: "member", isStopped: true },
  ],
  entries: [entry("charge")],
  view: { ...KEYS_VIEW, keys: [key()] },
  ownBudgets: [],
  chart: undefined,
  packages: SOLD.packages,
  address: "https://sluice.example",
};

const minute = (more: Things = {}) => ({
  atMs: NOW,
  attempts: 0,
  failed: 0,
  departed: 0,
  ...more,
});
const upstream = (name: string, more: Things = {}, last: Things = {}) => ({
  name,
  dialect: "chat",
  resting: false,
  state: "ok",
  failingModels: [],
  lastFailure: undefined,
  keys: undefined,
  activity: { minutes: [minute(), minute(last)], latencies: [], total: {} },
  ...more,
});

const usageRow = (group: Things, more: Things = {}) => ({
  group,
  names: {},
  isOthers: false,
  ...figures(more),
});
const REPORT = {
  by: ["hour", "model"],
  rows: [],
  zone: "UTC",
  totals: figures(),
  since: new Date(NOW - 2 * HOUR).toISOString(),
  until: new Date(NOW + HOUR).toISOString(),
};
const REPORT_BEFORE = {
  ...REPORT,
  by: ["hour"],
  since: new Date(NOW - 2 * HOUR - DAY).toISOString(),
  until: new Date(NOW + HOUR - DAY).toISOString(),
};
const LATENCY = { requests: 9, sinceMs: NOW - HOUR, p50Ms: 100, p95Ms: 200, firstTokenP95Ms: 50 };
const OVERVIEW = {
  figures: {
    span: { unit: "hour", sinceMs: NOW - 2 * HOUR, untilMs: NOW + HOUR, shiftMs: DAY },
    overTime: {
      ...REPORT,
      totals: figures({ errors: 3, failures: { key_unknown: 1, rate_exceeded: 2 } }),
      rows: [
        usageRow({ hour: new Date(NOW).toISOString(), model: "a" }, { errors: 3 }),
        {
          ...usageRow({ hour: new Date(NOW - HOUR).toISOString(), model: "" }, { credits: 4 }),
          isOthers: true,
        },
        usageRow({ hour: new Date(NOW).toISOString(), model: "free" }, { credits: 0 }),
        // before and behind the range
        ...[-3, -2, 1].flatMap((hours) => {
          const hour = new Date(NOW + hours * HOUR).toISOString();
          return [
            usageRow({ hour, model: "a" }, { errors: 1 }),
            { ...usageRow({ hour, model: "" }, { credits: 5 }), isOthers: true },
          ];
        }),
      ],
    },
    before: {
      ...REPORT_BEFORE,
      totals: figures({ credits: 3 }),
      rows: [-3, -2, 0, 1].map((hours) =>
        usageRow({ hour: new Date(NOW - DAY + hours * HOUR).toISOString() })
      ),
    },
    models: {
      ...REPORT,
      rows: [
        usageRow({ model: "a" }, { errors: 5 }),
        { ...usageRow({ model: "" }), isOthers: true },
      ],
    },
    accounts: {
      ...REPORT,
      rows: [
        { ...usageRow({ account: "acc_1" }), names: { account: "ada@example.com" } },
        usageRow({ account: "acc_2" }),
      ],
    },
    latency: LATENCY,
    latencyBefore: { ...LATENCY, sinceMs: undefined, p50Ms: undefined },
  },
  range: "today",
  perUsd: undefined,
};

const SERIES = { name: "succeeded", values: [1, 0, 3, 2, 0, 1, 4] };
const CHART = {
  title: "Requests",
  unit: "requests",
  span: "day",
  slots: SERIES.values.map((_, at) => ({ label: `d${at}`, title: `day ${at}` })),
  series: [SERIES],
};

const ROLES = ["none", "finance", "operator", "owner"] as const;
const PATHS = ["", "keys", "orders/ord_1", "checkout", "account", "operator", "operator/codes"];

/** Parts by the name of their outline. */
const PARTS: Readonly<Record<string, () => readonly State[]>> = {
  keys: () =>
    states(KeyTable as Things, KEY_TABLE, {
      "of teams and members": {
        teams: new Map([["team_1", "Platform"]]),
        names: new Map([["acc_1", "ada@example.com"]]),
        caption: "Keys of the team",
        spentIn: "this month",
        allModels: "the team's",
        keys: KEYS.slice(-2),
        ...may(),
      },
      "of a member who is not known": {
        names: new Map(),
        keys: [key({ memberId: "acc_2" })],
        ...may(),
      },
      "budgets may be set": { keys: KEYS.slice(0, 2), ...may(BUDGET_SET) },
      "they may be changed": { keys: KEYS.slice(0, 2), ...may(KEY_UPDATE) },
      "they may be revoked": { keys: KEYS.slice(0, 2), ...may(KEY_REVOKE) },
      "there are none": { keys: [] },
      "all are past": { keys: KEYS.slice(5, 7) },
    }),
  "the keys of an account": () =>
    states(KeysPage as Things, {
      page: page("keys"),
      view: { ...KEYS_VIEW, keys: KEYS.slice(0, 4) },
      teams: undefined,
      mayChange: none,
      address: "https://sluice.example",
      tools: [],
    }, {
      "with a new one": { made: MADE, view: { ...KEYS_VIEW, keys: [] } },
      "that are many": { view: { ...KEYS_VIEW, keys: KEYS.slice(0, 5) } },
    }),
  "team members": () =>
    states(MemberTable as Things, { ...TEAM, base: "/console/teams/team_1" }, {
      "who may see no usage of others": { may: none },
      "who may set budgets": { mayOperate: only(BUDGET_SET) },
      "who may change roles": { mayOperate: only(MEMBER_ROLE) },
      "who may change nothing": { mayOperate: none },
      "nobody": { members: [], usage: [], memberBudgets: new Map() },
    }),
  "a team": () =>
    states(TeamPage as Things, { ...TEAM, members: [], usage: [], memberBudgets: new Map() }, {
      "with a new key": { made: MADE, team: team({ models: ["a"] }) },
      "without a pool": {
        team: team({ poolId: null, models: [] }),
        balance: null,
        usage: TEAM.usage,
      },
      "disabled": { team: team({ disabledAtMs: NOW, models: ["a", "b"] }) },
      "seen by somebody who may do nothing": {
        mayOperate: none,
        mayMakeFor: none,
        may: none,
        self: undefined,
        ownKeys: undefined,
        budgets: [],
      },
      "seen by a member": {
        mayOperate: none,
        may: none,
        mayMakeFor: (id: string | null) => id === "acc_bob",
        members: TEAM.members,
      },
      "seen by somebody who may see it": {
        mayOperate: only(MEMBER_ADD),
        may: all,
        self: undefined,
        mayMakeFor: (id: string | null) => id === null,
      },
      "seen by somebody who may buy": {
        mayOperate: only(ORDER_CREATE, TEAM_UPDATE),
        mayMakeFor: (id: string | null) => id === "acc_stopped",
        members: TEAM.members,
      },
    }),
  teams: () =>
    states(TeamsPage as Things, {
      page: page("teams"),
      rows: [
        { team: team(), members: 3, balance: 500, role: "lead" },
        {
          team: team({ id: "team_2", poolId: null, models: ["a"], disabledAtMs: NOW }),
          ...{ members: 0, balance: null, role: undefined },
        },
      ],
      models: ["a"],
      mayCreate: true,
    }, {
      "for members": { mayCreate: false },
      "none": { rows: [] },
      "none for members": { rows: [], mayCreate: false },
    }),
  budgets: () => [
    ...states(BudgetBar as Things, { budget: budget() }, {
      "held, with a raise, without warnings": {
        budget: budget({
          held: 5,
          raise: { credits: 50, untilMs: NOW },
          marks: [],
          zone: "Asia/Tokyo",
        }),
        of: "the key laptop",
      },
      "in brief": { brief: true, of: LONG },
      "in brief, of nobody": { brief: true },
      "for life": { budget: budget({ period: "life", renewsAtMs: null, credits: 0, spent: 7 }) },
      "more than spent": { budget: budget({ spent: 70, held: 70 }) },
    }),
    ...states(Budgets as Things, {
      budgets: [budget(), budget({ period: "life", raise: { credits: 5, untilMs: NOW } })],
      of: "the key laptop",
      csrf: "csrf",
      path: "/console/keys/key_1",
    }, {
      "that nobody changes": { path: undefined },
      "that are kept": { isKept: true },
      "none": { budgets: [] },
      "none that are kept": { budgets: [], isKept: true },
      "of each kind": {
        budgets: ["day", "week", "month", "life"].map((period) => budget({ period })),
      },
    }),
  ],
  requests: () =>
    states(RequestsPage as Things, REQUESTS, {
      "of a page further on": { isLive: false, isFirst: false, more: "before=1.req_1" },
      "searched a while": { isLive: false, searchedToMs: NOW - DAY, more: "before=1.req_1" },
      "searched a while for nothing": {
        ...{ isLive: false, searchedToMs: NOW - DAY, records: [] },
        filter: { ...FILTER, status: "refused" },
      },
      "by dates": { filter: { ...FILTER, from: "2026-05-01", range: "7d", zone: "Asia/Tokyo" } },
      "by the last date": { filter: { ...FILTER, to: "2026-05-01" }, isFirst: false },
      "by a range": { filter: { ...FILTER, range: "7d", zone: "UTC" }, isFirst: false },
      "by a tag": { filter: { ...FILTER, tag: "a=b" } },
      "by a model that is gone": { filter: { ...FILTER, model: "o" } },
      "by a key": {
        filter: { ...FILTER, key: "key_9" },
        keys: [key(), key({ id: "key_9", teamId: "team_1", accountId: "acc_9" })],
      },
      "with keys of a team": {
        records: [],
        keys: [key({ teamId: "team_1", accountId: "acc_9", memberId: "acc_1" })],
      },
      "with keys of a team that members pay for": {
        records: [],
        keys: [key({ teamId: "team_1", memberId: "acc_1" })],
      },
      "in a zone": { filter: { ...FILTER, zone: "Asia/Tokyo" }, records: [], isFirst: false },
      "by an ID": { filter: { ...FILTER, q: "req_1" } },
      "by an ID of nothing": { filter: { ...FILTER, q: "req_9" }, records: [] },
      "by an ID that is none": { filter: { ...FILTER, q: "r" }, records: [], error: "Too short." },
    }),
  "a request": () =>
    states(RequestPage as Things, {
      page: page("requests/req_1"),
      record: record(),
      route: route(),
      entries: [entry("charge", { note: "A gift" })],
      keyName: "laptop",
      email: undefined,
      perUsd: undefined,
    }, {
      "of another, in dollars": { email: "bob@example.com", perUsd: 1_000, route: undefined },
      "that failed": { record: FAILED, entries: [] },
      "that failed long ago": { record: { ...FAILED, reason: null, message: null } },
      "with attempts": {
        record: {
          ...FAILED,
          attempts: 3,
          attemptList: [
            { upstream: "one", model: "x", key: "key 1", outcome: "status 503", durationMs: 9 },
            { upstream: "two", model: "y", key: undefined, outcome: "replied", durationMs: 9 },
          ],
        },
      },
      "with all attempts": {
        record: {
          ...FAILED,
          attemptList: [
            { upstream: "one", model: "x", key: undefined, outcome: "status 503", durationMs: 9 },
          ],
        },
      },
      "of which much is told": {
        record: record({
          details: { model: "z", id: "up-1", tier: "flex", speed: "fast", region: "eu" },
          streamed: false,
          ignored: "top_k",
          tags: { project: "alpha" },
          status: 999,
        }),
      },
      "replied to as it was sent": { record: record({ details: { model: "x" } }) },
      "without prices": {
        record: record({ prices: undefined, outputTokens: 0, firstTokenMs: null }),
      },
      "without any prices": { record: record({ prices: undefined }), route: undefined },
      "not charged": { record: record({ usageSource: null, ending: "client_left" }) },
      "for nothing, in dollars": {
        record: record({ usageSource: "gateway", priceCredits: 0, chargedCredits: 0 }),
        perUsd: 1_000,
      },
      "with a key of its own, for a credit": {
        perUsd: 1_000,
        record: record({
          ownKey: "account",
          reasoningTokens: 7,
          priceCredits: 1,
          chargedCredits: 1,
          details: { row: "long", extras: { reasoning: [5, 6], search: [1, 2] } },
        }),
      },
      "with extras": { record: record({ extraCredits: 2, priceCredits: 5, chargedCredits: 5 }) },
      "not all of it collected": { record: record({ chargedCredits: 1 }) },
    }),
  home: () =>
    states(HomePage as Things, HOME, {
      "in dollars": { perUsd: 100, pools: [pool("Red")] },
      "without a rate": { rate: undefined, credits: { ...CREDITS, held: 5 }, inFlight: 2 },
      "unused": { credits: UNUSED, keys: [], limits: [] },
      "unused, with keys and a pool": {
        credits: { ...UNUSED, balance: 0, lots: [] },
        pools: [pool("Red", { usedAtMs: 0, balance: 0 })],
        tier: [],
      },
      "unused, without credits": { credits: { ...UNUSED, balance: 0, lots: [] }, tier: [] },
      "unused, with credits and a pool": {
        credits: UNUSED,
        pools: [pool("Red", { usedAtMs: 0 }), pool("Blue", { usedAtMs: 0 })],
      },
      "unused, but for a pool": { credits: UNUSED, pools: [pool("Red")], tier: [] },
      "without credits": { credits: { ...CREDITS, balance: 0, lots: [] }, tier: [] },
      "without credits, with pools": {
        credits: { ...CREDITS, balance: 0, lots: [] },
        tier: [],
        pools: [
          pool("Red", { balance: 0 }),
          pool("Blue", { balance: 0, mayBuy: true }),
          pool("Green", { balance: 0, keys: 0 }),
          pool("White"),
        ],
      },
      "in debt": { debt: 1, credits: { ...CREDITS, balance: 0 } },
      "no limits": { tier: [], limits: [] },
      "with a key of the playground": {
        credits: UNUSED,
        keys: [key({ createdAtMs: NOW, expiresAtMs: NOW + HOUR })],
      },
      "with much": {
        keys: Array.from({ length: 7 }, (_, at) =>
          key({
            id: `key_${at}`,
            name: at === 0 ? "" : `k${at}`,
            expiresAtMs: NOW + (14 - 2 * at) * DAY,
          })),
        budgets: Array.from({ length: 8 }, (_, at) => ({
          budget: budget({ spent: 10 * at, left: at % 2 === 0 ? 1_000 : 100 - 10 * at }),
          of: `budget ${at}`,
        })),
        credits: {
          ...CREDITS,
          lots: Array.from({ length: 14 }, (_, at) => ({ ...LOTS[1]!, id: `lot_${at}` })),
        },
      },
      "with keys that expire later": {
        keys: [key({ expiresAtMs: NOW + 14 * DAY + 1 }), key({ expiresAtMs: NOW + 14 * DAY })],
        credits: { ...CREDITS, lots: LOTS.slice(1, 2) },
      },
      "with five keys that expire": {
        keys: Array.from({ length: 5 }, (_, at) =>
          key({ id: `key_${at}`, name: `k${at}`, expiresAtMs: NOW + at * HOUR })),
      },
      "with nothing that expires": { credits: { ...CREDITS, lots: LOTS.slice(1, 2) } },
    }),
  statement: () => [
    ...states(CreditStatementSection as Things, { statement: STATEMENT, months: MONTHS }, {
      "of the present": { statement: { ...STATEMENT, fromMs: MONTHS[0]!, takenBack: 3 } },
      "of the first": { statement: { ...STATEMENT, fromMs: MONTHS[2]!, lines: [] } },
      "of a month before": { statement: { ...STATEMENT, fromMs: Date.UTC(2025, 0), lines: [] } },
    }),
    [
      "entries",
      EntryTable({
        entries: [
          entry("charge"),
          entry("expire"),
          entry("take_back", { note: "A gift" }),
          entry("grant", { credits: 5 }),
        ] as Things,
      }),
    ],
    ...states(StatementPage as Things, {
      page: page("statement"),
      buyer: "ada@example.com",
      path: "/console/statement",
      month: "2026-05",
      lines: [
        {
          ...{ kind: "paid", atMs: NOW, packageName: "Starter", receipt: 1, amount: 499 },
          ...{ currency: "usd", livemode: true, credits: 500, orderId: "ord_1" },
        },
        {
          ...{ kind: "refunded", atMs: NOW, packageName: "Starter", receipt: null, amount: -99 },
          ...{ currency: "usd", livemode: true, credits: -99, orderId: "ord_1" },
        },
      ],
      earlier: "2026-04",
      later: undefined,
    }, {
      "with tests": {
        later: "2026-06",
        lines: [
          {
            ...{ kind: "disputed", atMs: NOW, packageName: "Starter", receipt: 2, amount: -5 },
            ...{ currency: "eur", livemode: false, credits: 0, orderId: "ord_2" },
          },
          {
            ...{ kind: "paid", atMs: NOW, packageName: "Big", receipt: 3, amount: null },
            ...{ currency: "gbp", livemode: true, credits: 9, orderId: "ord_3" },
          },
          {
            ...{ kind: "paid", atMs: NOW, packageName: "Big", receipt: 3, amount: 0 },
            ...{ currency: "usd", livemode: true, credits: 9, orderId: "ord_3" },
          },
        ],
      },
      "of nothing": { lines: [] },
    }),
  ],
  packages: () => [
    ...states(Packages as Things, SOLD, {
      "not online": shop({ isOnline: false, prices: new Map(), contact: "Anna, room 5" }),
      "tests, to be asked elsewhere": shop({ isTest: true, contact: "https://example.com/buy" }),
      "not by this visitor": shop({ mayBuy: false }),
      "nothing online": shop({ prices: new Map() }),
      "disputed": shop({ isDisputed: true }),
      "of a team": shop({
        team: team(),
        isDisputed: true,
        payers: [
          { name: "you", href: "/console/credits", isCurrent: false },
          { name: "Platform", href: "/console/teams/team_1/credits", isCurrent: true },
        ],
      }),
      "one payer": shop({ payers: [{ name: "you", href: "/console/credits", isCurrent: true }] }),
      "a top-up": shop({ topUp: topUp() }),
      "a top-up before its first payment": shop({ topUp: topUp({ hasMethod: false }) }),
      "a top-up of what is no longer sold": shop({ topUp: topUp({ packageId: "gone" }) }),
      "a top-up that is off": shop({ topUp: topUp({ isOn: false }) }),
      "a top-up that stopped": shop({ topUp: topUp({ stopped: "Declined" }) }),
      "a top-up that stopped at a time": shop({
        topUp: topUp({ stopped: "Declined", stoppedAtMs: NOW }),
      }),
    }),
    ...[0, 1].flatMap((debtCredits) =>
      [undefined, team()].map((one) =>
        [`debt ${debtCredits}`, Debt(shop({ debtCredits, team: one }) as Things)] as const
      )
    ),
  ],
  orders: () => [
    ...states(OrderTable as Things, {
      orders: [
        order({ needsLook: "It differs." }),
        order({ id: "ord_2", state: "paid", paidAmount: 300, receipt: 7 }),
      ],
    }, {
      "of several": {
        owners: new Map([["acc_1", { name: "ada@example.com", href: "/console/a" }]]),
        caption: "Orders that need a look",
      },
      "of nobody known": { owners: new Map() },
      "none": { orders: [] },
    }),
    ...[
      "open",
      "paid",
      "expired",
      "failed",
      "partly_refunded",
      "refunded",
      "disputed",
      "charged_back",
    ].flatMap((state) =>
      [false, true].flatMap((isTeam) =>
        [false, true].map((isCancelled): State => [
          `${state}, ${isTeam ? "of a team" : "own"}${isCancelled ? ", cancelled" : ""}`,
          OrderPage({
            page: page("orders/ord_1"),
            ...view({ state }, { isTeam }),
            isCancelled,
          } as Things),
        ])
      )
    ),
    ...states(OrderPage as Things, {
      page: page("orders/ord_1"),
      ...view({ paidAmount: 300, goneAmount: 100, receipt: 7 }),
      isCancelled: false,
    }, {
      "led on": { leavesTo: "https://pay.example/1" },
      "not to be paid by this visitor": view({}, { mayPay: false }),
      "without a session": view({ sessionUrl: null }),
    }),
    ...states(ReceiptPage as Things, {
      page: page("orders/ord_1/receipt"),
      ...view({ receipt: 7, paidAmount: 499, paidAtMs: NOW, paymentId: "pi_1" }),
      seller: "Example",
    }, {
      "of a test, refunded": view({ receipt: 7, livemode: false, goneAmount: 100 }),
      "paid by hand": view({ receipt: 7, provider: "manual" }),
    }),
  ],
  notices: () =>
    states(NoticesPage as Things, NOTICES, {
      "all read": { notices: NOTICES.notices.slice(1) },
      "none": { notices: [] },
      "that are delivered as well": {
        notices: [notice({ deliveries: [delivery("waiting", null)] })],
      },
      "of operators": {
        ...{ title: "Alerts", action: "/console/operator/alerts", shows: "deliveries" },
        isRead: ({ readAtMs }: Things) => readAtMs !== null,
      },
      "of operators, delivered": {
        shows: "deliveries",
        notices: [
          notice({
            deliveries: [
              delivery("delivered", null),
              delivery("waiting", "status 500"),
              delivery("given_up", "no reply"),
            ],
          }),
          notice(),
        ],
      },
      "of operators, none": { shows: "deliveries", notices: [] },
      "of operators, about what is of, as one says: nobody": {
        shows: "deliveries",
        notices: [notice({ title: "What it is made of, in short: " })],
      },
      "of nobody": { page: page("notices", { session: undefined }) },
      "with times": {
        notices: [notice({
          text: "It expires on 2026-06-15 12:00 UTC, made 2026-06-14 12:00 UTC.",
          data: { expires_at: new Date(NOW).toISOString(), name: "2026-06-14T", number: 5 },
        })],
      },
    }),
  "an account of one's own": () =>
    states(AccountPage as Things, {
      page: page("account"),
      session: session({ name: "", role: "operator" }),
      hasPassword: true,
      ownKeys: { keys: [], upstreams: [] },
      signIn: SIGN_IN,
      nowMs: NOW,
    }, {
      "just signed in": { session: { ...session(), isRecent: true } },
      "by a link": { session: { ...session(), byLink: true }, signIn: undefined },
      "without a password, just signed in": {
        hasPassword: false,
        session: { ...session(), isRecent: true },
      },
      "without a password": { hasPassword: false, signIn: { ...SIGN_IN, passkeys: undefined } },
      "that may have none": { hasPassword: undefined, signIn: { ...SIGN_IN, links: [] } },
      "without providers": { signIn: { ...SIGN_IN, providers: [], passkeys: [] } },
      "without providers and links": { signIn: { ...SIGN_IN, providers: [], links: [] } },
    }),
  "own keys": () =>
    states(OwnKeys as Things, {
      keys: [
        { upstream: "one", hint: "wxyz", setAtMs: NOW - DAY },
        { upstream: "two", hint: "", setAtMs: NOW - DAY },
      ],
      upstreams: ["one"],
      use: "last",
      csrf: "csrf",
      base: "/console/teams/team_1",
      nowMs: NOW,
    }, {
      "none yet": { keys: [], use: undefined },
      "none any more": { upstreams: [] },
      "none at all": { upstreams: [], keys: [] },
    }),
  tools: () =>
    states(ToolTable as Things, {
      tools: [{ client: "Claude Code", address: "::1" }, { client: "Other", address: null }]
        .map((one) => ({ ...one, keyId: "key_1", createdAtMs: NOW - DAY, refreshedAtMs: NOW })),
      csrf: "csrf",
      nowMs: NOW,
    }, { "none": { tools: [] } }),
  "an account": () =>
    states(AccountDetailPage as Things, DETAIL, {
      "with a link, a key and debts": {
        link: "https://sluice.example/console/link/x",
        made: MADE,
        debt: 5,
        ownBudgets: [budget({ owner: "account" })],
        chart: CHART,
        teams: [],
      },
      "disabled": { account: account({ disabledAtMs: NOW }) },
      "a service": { account: account({ kind: "service", name: "CI" }) },
      "an owner": { account: account({ role: "owner" }) },
      "a pool": {
        account: account({ kind: "pool", name: "Pool of Platform" }),
        teams: [
          { teamId: "team_1", teamName: "Platform" },
          { teamId: "team_2", teamName: "Team Red" },
        ],
      },
      "a pool without a name": { account: account({ kind: "pool", name: "" }), teams: [] },
      "for somebody who may do nothing": { mayOperate: none, seesKeys: false, mayRevoke: none },
      "for somebody who may give some roles": {
        mayOperate: (_operation: unknown, { role }: Things = {}) => role !== "owner",
      },
      "for somebody who may not revoke": { mayRevoke: none },
    }),
  upstreams: () =>
    states(UpstreamSummary as Things, {
      upstreams: [
        upstream("fine"),
        upstream("unknown", { state: "unknown" }),
        upstream("failing", { state: "failing" }),
        upstream("resting", { resting: true }),
        upstream("open", { failingModels: ["m"] }),
        upstream("too few", {}, { attempts: 9, failed: 9 }),
        upstream("enough", {}, { attempts: 10, failed: 2 }),
        upstream("a tenth", {}, { attempts: 20, failed: 2 }),
        upstream("departs", {}, { attempts: 20, failed: 0, departed: 3 }),
      ],
    }, { "none": { upstreams: [] } }),
  overview: () =>
    states(UsageParts as Things, OVERVIEW, {
      "of days, in dollars": { range: "7d", perUsd: 1_000 },
      "with nothing before": {
        figures: {
          ...OVERVIEW.figures,
          overTime: { ...REPORT, totals: figures({ credits: 0, errors: 0 }) },
          before: { ...REPORT_BEFORE, totals: figures({ credits: 0, requests: 0 }) },
          latency: { ...LATENCY, sinceMs: undefined },
        },
      },
      "with next to nothing before": {
        figures: {
          ...OVERVIEW.figures,
          before: { ...REPORT_BEFORE, totals: figures({ credits: 2, requests: 1 }) },
        },
      },
    }),
  models: () => {
    const models = [
      route(),
      route({ id: "n", displayName: "Model N", tools: true, images: "inline" }),
      route({ id: "o", images: "remote", reasoning: "thinking" }),
      route({ id: "p", reasoning: "always", prices: { input: 9, cached: 8, output: 7 } }),
      route({ id: "q", reasoning: "effort", efforts: ["low", "high"] }),
      route({ id: "r", kind: "embeddings", dimensions: 1_024 }),
      route({ id: "s", kind: "embeddings" }),
    ].map((one, at) => ({ route: one, aliases: at === 0 ? ["gpt", "b", "c", "d"] : [] }));
    const search = { text: "", abilities: [], order: "" };
    return states(ModelsPage as Things, {
      page: page("models"),
      models,
      total: 7,
      search,
      creditsPerUsd: undefined,
    }, {
      "in dollars, searched": { creditsPerUsd: 1_000, search: { ...search, text: "a" } },
      "with an ability": {
        search: { ...search, abilities: ["tools"] },
        models: models.slice(1, 2),
      },
      "none found": { models: [], search: { ...search, text: "x" } },
      "none": { models: [], total: 0 },
    });
  },
  "a route's form": () => {
    const targets = [{ upstream: "one", model: "m" }, { upstream: "gone", model: "n", weight: 2 }];
    const written = { targets, minimum: 2 };
    const of = (more: Things, inUse = route({ targets })) => ({
      route: inUse,
      written: more,
      values: valuesOf(more, inUse as Things),
    });
    return states(RouteEditPage as Things, {
      page: page("operator/routes/edit", { session: session({ role: "owner" }) }),
      ...of(written),
      upstreams: ["one", "two"],
      file: "/etc/sluice.jsonc",
    }, {
      "without a file": { file: undefined },
      "of embeddings": of({}, route({ targets, kind: "embeddings" })),
      "with prices": of({ targets, prices: { input: 1, cached: 2, output: 3 }, enabled: false }),
      "without targets": of({ targets: [] }),
      "sent with empty targets": {
        values: new Map([
          ["model-0", ""],
          ["upstream-0", "one"],
          ["model-1", "m"],
          ["upstream-1", ""],
          ["place-1", "7"],
          ["model-2", ""],
          ["upstream-2", ""],
        ]),
      },
    });
  },
  "signing in": () => [
    ...states(SignInPage as Things, {
      page: page("sign-in", { session: undefined }),
      registration: "open",
    }, {
      "by a provider or a passkey": { providers: ["company"], passkeys: true, email: "a@b" },
      "of owners": { onlyOwners: true, registration: "closed" },
      "with an invite": { registration: "invite" },
    }),
    ...states(RegisterPage as Things, {
      page: page("register", { session: undefined }),
      registration: "open",
    }, {
      "with an invite": { registration: "invite", code: "x", email: "a@b", name: "Ada" },
    }),
  ],
  "around pages": () => [
    ...PATHS.flatMap((path) =>
      ROLES.map((role): State => [
        `${path || "home"} for ${role}`,
        Layout({ page: page(path, { session: session({ role }) }), title: "T" } as Things),
      ])
    ),
    ...states(Layout as Things, { page: page("models", { session: undefined }), title: "T" }, {
      "that is loaded again": { refreshSeconds: 5 },
      "that leads on": { leavesTo: "https://pay.example/1", script: "passkeys.js" },
      "with a notice": { page: page("keys", { notice: { tone: "good", text: "Done." } }) },
      "with an error": { notice: { tone: "bad", text: "No." } },
      "in a team, without a name": {
        page: page("teams", { session: session({ name: "" }, [["team_1", "member"]]) }),
      },
    }),
    ["an error", JSON.stringify(noticeOf({ error: "credits are too many", done: "Done." }))],
    ["done", JSON.stringify(noticeOf({ done: "Done." }))],
    ["nothing", JSON.stringify(noticeOf({})) ?? "none"],
  ],
  names: () => [
    ...[28, 29].flatMap((chars) =>
      [undefined, "/console/k"].flatMap((href) =>
        ["", " and more"].map((more): State => [
          `${chars} characters${more}`,
          Name({ text: "x".repeat(chars) + more, href }),
        ])
      )
    ),
    [`shortened`, [28, 29].map((chars) => shortened("x".repeat(chars))).join(" ")],
    ...[[], ["a"], ["a", "b", "c"], ["a", "b", "c", LONG]].map((all) =>
      [`${all.length} names`, Names({ all })] as const
    ),
    ...[
      "acc_1",
      `key_1 60000 ${NOW}`,
      `key_1 3600000 ${NOW} x`,
      "other_1 5 plain",
      "1000000000000",
      "999999999999",
    ].map((id) =>
      [
        id,
        RowKey({ id, labels: new Map([["key_1", { text: "laptop", href: "/console/k" }]]) }),
      ] as const
    ),
  ],
  figures: () =>
    [0, 1_234_567, 12_345_678, 9_876_543_210, 98_765_432_109].map((
      value,
    ) => [
      String(value),
      Stat({ name: "Tokens", value, ...value === 0 ? {} : { note: "a note" } }),
    ]),
  charts: () => [
    ...states(Chart as Things, CHART, {
      "of several, with the period before": {
        zone: "Asia/Tokyo",
        series: [
          SERIES,
          { name: "failed", values: [0, 0, 1], tone: "bad" },
          { name: LONG, values: [1, 1], tone: "others" },
        ],
        before: { name: "before", values: [9, 0, 0, 0, 0, 0, 0, 8] },
      },
      "of months": {
        span: "month",
        slots: Array.from({ length: 14 }, (_, at) => ({ label: `m${at}`, title: `month ${at}` })),
        series: [{ name: "a", values: Array.from({ length: 14 }, (_, at) => at) }],
      },
      "of hours": {
        span: "hour",
        slots: Array.from({ length: 48 }, (_, at) => ({ label: `h${at}`, title: `hour ${at}` })),
        series: [{ name: "a", values: Array.from({ length: 48 }, (_, at) => at % 3) }],
      },
      "of nothing": { series: [{ name: "a", values: [0, 0, 0, 0, 0, 0, 0] }] },
      "of no series": { series: [] },
    }),
    ...states(Sparkline as Things, {
      label: "one, last hour",
      unit: "attempts",
      values: [0, 4, 2, 4].map((value, at) => ({ atMs: NOW + at * 60_000, value, failed: 0 })),
    }, {
      "with failures": {
        values: [[0, 0], [4, 1], [2, 0], [0, 3]].map(([value, failed], at) => ({
          atMs: NOW + at * 60_000,
          value,
          failed,
        })),
      },
      "of nothing": { values: [{ atMs: NOW, value: 0, failed: 0 }] },
    }),
  ],
};

/** Parts whose classes matter: where something stands, and how much of it is seen. */
const AS_THEY_ARE = ["charts", "names", "figures"];

/** All elements of a part, each on a line, but of a drawing only which one it is. */
function wholeOf(html: string): string {
  return html.replaceAll(/<svg.*?<\/svg>/gs, (drawing) => `<svg ${sumOf(drawing)}>`)
    .replaceAll("><", ">\n<");
}

for (const [name, made] of Object.entries(PARTS)) {
  Deno.test(`part of a page in its states: ${name}`, async () => {
    let outline = "";
    for (const [what, part] of made()) {
      const html = String(await part);
      const [head = ""] = /<head>.*<\/head>/s.exec(html) ?? [];
      const loads = /(?:http-equiv="refresh" content|<script [^>]*src)="([^"]*)"/g;
      for (const [, loaded] of head.matchAll(loads)) {
        if (loaded !== "/console/assets/console.js") outline += `== ${loaded}\n`;
      }
      // what is around a page has an outline of its own
      const [main] = name === "around pages" ? [html] : /<main[\s\S]*<\/main>/.exec(html) ?? [html];
      outline += `== ${what}\n${
        AS_THEY_ARE.includes(name) ? wholeOf(main) : outlineOf(main, [])
      }\n`;
    }
    const file = new URL(`${name.replaceAll(/\W+/g, "-")}.txt`, FOLDER);
    if (isWriting) await Deno.writeTextFile(file, outline);
    else assertEquals(outline, await Deno.readTextFile(file));
  });
}

Deno.test("cells of a table have the classes by which rows become cards", () => {
  const of = (columns: Things) => {
    const html = String(Table({ caption: "T", rows: ["x"], empty: "None.", columns }));
    return [
      /class="table ([^"]*)"/.exec(html)![1],
      ...[...html.matchAll(/<t[hd]\b([^>]*)>/g)].map(([, attributes]) =>
        /class="([^"]*)"/.exec(attributes!)?.[1]
      ),
    ];
  };
  const cell = () => "x";
  const no = undefined;
  assertEquals(of([{ name: "a", cell }, { name: "b", cell }]), [
    "columns-2",
    no,
    no,
    "primary",
    no,
  ]);
  assertEquals(of([{ name: "", cell }]), ["columns-1", no, "primary"]);
  assertEquals(
    of([
      { name: "a", cell, bare: true },
      { name: "b", cell, role: "primary", numeric: true },
      { name: "c", cell, role: "figure" },
      { name: "", cell },
      ...["", "–", null, 0, false].map((content) => ({ name: "d", cell: () => content })),
      { name: "e", cell: () => "", numeric: true, bare: true },
    ]),
    [
      "columns-10",
      ...[no, "number", "number", no, no, no, no, no, no, "number"],
      ...["bare", "primary number", "figure number", "action"],
      ...["none", "none", "none", no, no, "number bare none"],
    ],
  );
  assertEquals(of(Array.from({ length: 13 }, () => ({ name: "a", cell })))[0], "columns-12");
});

Deno.test("the address of a page of requests has what was chosen, but for the zone that there is anyway", () => {
  const of = (some: Partial<typeof FILTER>, before?: string) =>
    queryOf({ ...FILTER, ...some }, before);
  assertEquals([of({}), of({ zone: "UTC" }), of({ zone: "Asia/Tokyo" })], [
    "",
    "",
    "zone=Asia%2FTokyo",
  ]);
  assertEquals([of({ model: "UTC" }), of({ q: "x" }, "1.req_1")], [
    "model=UTC",
    "q=x&before=1.req_1",
  ]);
});
