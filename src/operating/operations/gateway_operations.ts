import * as z from "zod";
import { auditOnce, markRead, notices, Outbox, rememberAudit, sendAlerts } from "../alerts/mod.ts";
import { effectiveSettings } from "../../settings/config/mod.ts";
import { systemResolve } from "../../requests/images/mod.ts";
import { newId } from "../../ground/platform/mod.ts";
import { configuredUpstreams, probeUpstream } from "../../requests/upstreams/mod.ts";
import { accountInput, accountOf, flagInput, pageInput, pageOf, wholeList } from "./lookup.ts";
import { defineRead, defineWrite, type OperationContext, outcomeOnly } from "./operation.ts";
import { missing } from "../../people/operation_log/mod.ts";
import { alertShape, describeAlert } from "./shapes/alert.ts";
import { iso, timestamp } from "./shapes/common.ts";

const PROBE_MS = 10_000;

export const ROUTE_LIST = defineRead({
  input: z.strictObject({}),
  output: z.looseObject({
    id: z.string(),
    kind: z.string(),
    context: z.int(),
    minimum: z.int(),
    prices: z.record(z.string(), z.number()),
    targets: z.array(z.looseObject({ upstream: z.string(), model: z.string() })),
  }),
}, {
  name: "route.list",
  path: "/routes",
  summary: "List the models that are served, with limits, prices and targets",
  action: "routes.read",
  isList: true,
  async read({ parts }) {
    const { routes } = await parts.catalog();
    return wholeList(routes.map((route) => ({ ...route })));
  },
});

export const UPSTREAM_LIST = defineRead({
  input: z.strictObject({}),
  output: z.strictObject({
    name: z.string(),
    dialect: z.string(),
    state: z.string(),
    in_cooldown: z.boolean(),
    failing_models: z.array(z.string()),
    last_failure: z.string().nullable(),
    last_latency_ms: z.number().nullable(),
    last_outcome_at: timestamp.nullable(),
    keys: z.strictObject({ count: z.int(), in_cooldown: z.array(z.int()) }).nullable(),
  }),
}, {
  name: "upstream.list",
  path: "/upstreams",
  summary: "List the upstreams and how their requests fared, as this gateway has seen it",
  action: "upstreams.read",
  isList: true,
  async read({ parts: { gateway } }) {
    const states = await gateway!.upstreamStates();
    return wholeList(
      states.map((one) => ({
        name: one.name,
        dialect: one.dialect,
        state: one.state,
        in_cooldown: one.resting,
        failing_models: [...one.failingModels],
        last_failure: one.lastFailure?.detail ?? null,
        last_latency_ms: one.lastLatencyMs ?? null,
        last_outcome_at: one.lastOutcomeAtMs ? iso(one.lastOutcomeAtMs) : null,
        keys: one.keys === undefined
          ? null
          : { count: one.keys.count, in_cooldown: [...one.keys.resting] },
      })),
    );
  },
});

export const UPSTREAM_TEST = defineWrite({
  input: z.strictObject({ upstream: z.string().min(1).max(100) }),
  output: z.strictObject({
    upstream: z.string(),
    ok: z.boolean().describe("Whether it replied with a list of models."),
    status: z.int().nullable(),
    latency_ms: z.number().nullable(),
    models: z.array(z.string()),
    error: z.string().nullable(),
  }),
}, {
  name: "upstream.test",
  path: "/upstreams/{upstream}/test",
  summary: "Ask an upstream for its models now, as `sluice doctor` does",
  action: "upstreams.read",
  find({ parts }, { upstream }) {
    const all = configuredUpstreams(parts.config.settings);
    const settings = Object.hasOwn(all, upstream) ? all[upstream] : undefined;
    if (settings === undefined) throw missing("Upstream", upstream);
    return Promise.resolve({ target: settings, objectId: upstream });
  },
  outsideMs: () => PROBE_MS,
  async run(_nouns, { parts }, { target, input: { upstream } }) {
    const { now } = parts;
    const probe = await probeUpstream(upstream, target, { now, patienceMs: PROBE_MS });
    return {
      upstream,
      ok: probe.lists,
      status: probe.status ?? null,
      latency_ms: probe.latencyMs ?? null,
      models: probe.models.map(({ id }) => id),
      error: probe.fault?.words ?? null,
    };
  },
  reply: outcomeOnly,
});

export const SETTING_LIST = defineRead({
  input: z.strictObject({}),
  output: z.strictObject({
    path: z.string(),
    value: z.unknown(),
    origin: z.string().describe("Where it comes from."),
  }),
}, {
  name: "setting.list",
  path: "/settings",
  summary: "List the settings in use, secrets masked",
  action: "settings.read",
  isList: true,
  read({ parts }) {
    return Promise.resolve(wholeList(effectiveSettings(parts.config)));
  },
});

export const AUDIT_RUN = defineRead({
  input: z.strictObject({}),
  output: z.looseObject({
    accounts: z.int(),
    lots: z.int(),
    entries: z.int(),
    mismatches: z.array(z.looseObject({
      noun: z.string(),
      kind: z.string(),
      id: z.string(),
      promise: z.string().describe("Number of the promise that it breaks, such as `P1`."),
    })),
    uncollected: z.strictObject({ requests: z.int(), credits: z.int() }),
  }),
}, {
  name: "audit.run",
  path: "/audit",
  summary: "Recompute the ledger from its entries and records",
  description: "Requests continue meanwhile. One audit runs at a time: others get its report.",
  action: "audit.run",
  async read({ parts: { gateway, database, now } }) {
    const report = await auditOnce(gateway!.aside);
    await rememberAudit(database, report, now());
    return { ...report };
  },
});

export const ALERT_LIST = defineRead({
  input: z.strictObject({
    account: accountInput.optional(),
    unread: flagInput.optional().describe("`true`: only alerts that no operator has read."),
    state: z.enum(["waiting", "delivered", "given_up"]).optional().describe(
      "Only alerts with a delivery in this state.",
    ),
    ...pageInput,
  }),
  output: alertShape,
}, {
  name: "alert.list",
  path: "/alerts",
  summary: "List alerts and their deliveries, newest first",
  action: "alerts.read",
  isList: true,
  async read(c, { account, unread, state, limit, after }) {
    const found = await notices(c.parts.database, {
      accountId: account === undefined ? undefined : (await accountOf(c, account)).id,
      isUnread: unread === "true",
      state,
      after,
      limit: limit + 1,
    });
    return pageOf(found.map(describeAlert), limit);
  },
});

export const ALERT_READ = defineWrite({
  input: z.strictObject({
    up_to: z.iso.datetime({ offset: true }).describe("Creation of the newest alert that was read."),
  }),
  output: z.strictObject({ up_to: timestamp }),
}, {
  name: "alert.read",
  path: "/alerts/read",
  summary: "Mark alerts as read by operators",
  action: "alerts.read",
  find: (_c, { up_to }) => Promise.resolve({ target: { upToMs: Date.parse(up_to) } }),
  async run({ database }, { nowMs }, { target: { upToMs } }) {
    await markRead(database, { upToMs, nowMs });
    return { up_to: iso(upToMs) };
  },
  reply: (_c, { target: { upToMs } }) => Promise.resolve({ up_to: iso(upToMs) }),
});

/** What receivers replied to a test alert. */
export const alertTestShape = z.strictObject({
  results: z.array(z.strictObject({
    receiver: z.string(),
    ok: z.boolean(),
    status: z.int().nullable(),
    error: z.string().nullable(),
    took_ms: z.int(),
  })),
});

export const ALERT_TEST = defineWrite({
  input: z.strictObject({
    receiver: z.string().min(1).max(100).optional().describe("Name of a receiver. Default: all."),
  }),
  output: alertTestShape,
}, {
  name: "alert.test",
  path: "/alerts/test",
  summary: "Send a test alert to receivers",
  action: "alerts.read",
  find({ parts }, { receiver }) {
    const { receivers } = parts.config.settings.alerts;
    if (receiver !== undefined && !Object.hasOwn(receivers, receiver)) {
      throw missing("Receiver", receiver);
    }
    const target = receiver === undefined ? Object.keys(receivers) : [receiver];
    return Promise.resolve({ target, objectId: receiver });
  },
  outsideMs: ({ parts }) => parts.config.settings.alerts.timeoutMs,
  run: async (_nouns, { parts }, { target }) => ({ results: await testReceivers(parts, target) }),
  reply: outcomeOnly,
});

/** Sends a test alert to receivers of the settings. */
async function testReceivers(
  { config, now }: Pick<OperationContext["parts"], "config" | "now">,
  names: readonly string[],
) {
  const { proxies, alerts } = config.settings;
  return await Promise.all(names.map(async (name) => {
    const nowMs = now();
    const id = newId("alert");
    const startedTick = performance.now();
    const outcome = await sendAlerts(alerts.receivers[name]!, [{
      id,
      mark: `test:${id}`,
      kind: "test",
      accountId: null,
      teamId: null,
      title: "Test alert",
      text: "This is a test of the receiver, sent by sluice alerts test.",
      data: {},
      createdAtMs: nowMs,
    }], {
      ...alerts,
      proxies,
      resolve: systemResolve,
      nowMs,
      deliveryId: id,
      signal: new AbortController().signal,
    });
    const tookMs = Math.round(performance.now() - startedTick);
    return { receiver: name, ok: outcome.error === null, ...outcome, took_ms: tookMs };
  }));
}

export const ALERT_RETRY = defineWrite({
  input: z.strictObject({
    alert: z.string().min(1).max(100).optional().describe("ID of an alert. Default: all."),
    receiver: z.string().min(1).max(100).optional().describe("Name of a receiver. Default: all."),
  }),
  output: z.strictObject({ deliveries: z.int().nullable() }),
}, {
  name: "alert.retry",
  path: "/alerts/retry",
  summary: "Deliver again what waits or was given up",
  action: "alerts.read",
  find: (_c, { alert }) => Promise.resolve({ target: null, objectId: alert }),
  async run({ database }, { parts }, { input: { alert, receiver } }) {
    const outbox = new Outbox(database, parts.now);
    return { deliveries: await outbox.retry({ alertId: alert, receiver }) };
  },
  // the number is not known after a crash
  reply: (_c, { result }) => Promise.resolve(result ?? { deliveries: null }),
});
