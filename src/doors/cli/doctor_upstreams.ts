import type { Catalog } from "../../settings/catalog/mod.ts";
import { type Config, Secret, type UpstreamSettings } from "../../settings/config/mod.ts";
import { BACKS } from "../../wire/dialects/mod.ts";
import {
  configuredUpstreams,
  keysOf,
  type Probe,
  probeUpstream,
} from "../../requests/upstreams/mod.ts";
import type { Drift } from "./address.ts";
import { hostAndWay, proxyAdvice } from "./way_out.ts";
import { failed, type Finding, ok, warning } from "../../ground/finding.ts";

const UPSTREAM_PATIENCE_MS = 10_000;
/** How far clocks may differ. */
export const CLOCK_SLACK_MS = 30_000;

/**
 * Asks upstreams to list their models, each with each of its keys.
 *
 * @param catalog What is served: targets must be among the models that their upstreams list.
 * @param options The time, where to say what is being done, and how the running gateway's upstreams differ from these.
 * @returns What there is to say of each, and of this machine's clock, which is compared with theirs.
 */
export async function upstreamFindings(
  config: Config,
  catalog: Catalog,
  { now, tell, drift }: {
    readonly now: () => number;
    readonly tell: (what: string) => void;
    readonly drift?: Drift | undefined;
  },
): Promise<{ readonly findings: readonly Finding[]; readonly clock: Finding }> {
  const findings: Finding[] = [];
  const upstreams = Object.entries(configuredUpstreams(config.settings));
  if (drift !== undefined) {
    findings.push(warning("upstreams", drift.text, drift.advice));
  } else if (upstreams.length === 0) {
    findings.push(warning(
      "upstreams",
      "none configured: the built-in simulator replies",
      "run sluice init to find some, or set SLUICE_UPSTREAM_URL and SLUICE_UPSTREAM_KEY",
    ));
  }
  tell(upstreams.length === 1 ? "upstream" : "upstreams");
  const probes = await Promise.all(
    upstreams.flatMap(([name, settings]) =>
      eachKey(settings).filter(({ settings }) => hasItsKeys(settings)).map(async (
        { title, ...one },
      ) => ({
        name,
        check: `upstream ${name}${title}`,
        settings: one.settings,
        probe: await probeUpstream(name, one.settings, { now, patienceMs: UPSTREAM_PATIENCE_MS }),
        atMs: now(),
      }))
    ),
  );
  for (const [name, settings] of upstreams) {
    if (hasItsKeys(settings)) continue;
    findings.push(warning(
      `upstream ${name}`,
      `not asked: ${config.missingVariables.join(", ")} not set in this shell`,
      "the gateway has its own environment: the console shows how its requests fare",
    ));
  }
  for (const { name, check, settings, probe } of probes) {
    const asked = catalog.routes.flatMap(({ targets }) =>
      targets.flatMap(({ upstream, model }) => upstream === name ? [model] : [])
    );
    findings.push(upstreamFinding(check, settings, probe, asked));
  }
  for (const [name, { discover }] of upstreams) {
    const own = probes.filter((one) => one.name === name);
    if (!discover || own.length === 0 || own.some(({ probe: { lists } }) => lists)) continue;
    const sent = catalog.routes.find(({ id, origin, targets }) =>
      origin === "built-in" &&
      targets.some(({ upstream, model }) => upstream === name && model === id)
    );
    if (sent === undefined) continue;
    findings.push(warning(
      "models",
      `${name} does not list its models: it is sent the names of the built-in routes, such as ${sent.id}`,
      "name its own models in routes, or by SLUICE_UPSTREAM_MODEL",
    ));
  }
  return { findings, clock: clock(probes) };
}

/** An upstream with each of its keys alone; what fails with one may work with another. */
function eachKey({ keys, ...settings }: UpstreamSettings) {
  if (keys === undefined || keys.length < 2) {
    return [{ title: "", settings: { ...settings, keys } }];
  }
  return keys.map(({ key }, at) => ({
    title: `, key ${at + 1} of ${keys.length}`,
    settings: { ...settings, key },
  }));
}

/** Whether the variables that its keys and its proxy name are set: their names are not for an upstream to see. */
function hasItsKeys(settings: UpstreamSettings): boolean {
  const { proxy, proxies } = settings;
  const secrets = [...keysOf(settings).map(({ key }) => key), proxy, proxies?.https, proxies?.http];
  return !secrets.some((one) => one instanceof Secret && /\$\{\w+\}/.test(one.reveal()));
}

function upstreamFinding(
  check: string,
  settings: UpstreamSettings,
  { status, latencyMs, rejectsKey, models, lists, isPage, fault }: Probe,
  asked: readonly string[],
): Finding {
  const where = hostAndWay(settings.url, settings);
  if (fault !== undefined) {
    const advice = proxyAdvice(fault.message);
    if (advice !== undefined) return failed(check, `${where} not reached: ${fault.words}`, advice);
    return failed(check, `${where}: ${fault.message}`, adviceFor(fault));
  }
  const took = `${where} responded in ${latencyMs} ms`;
  if (rejectsKey) {
    const advice = settings.credentials !== undefined && settings.credentials.kind !== "key"
      ? "the credentials were accepted where they were got, and have no access here: check roles and region"
      : keysOf(settings).length === 0
      ? "set a key: upstreams.NAME.key, or SLUICE_UPSTREAM_KEY"
      : "the key is invalid, expired or not allowed to list models: create a new one";
    return failed(check, `${took} with status ${status}`, advice);
  }
  if (status !== undefined && status >= 500) {
    return failed(
      check,
      `${took} with status ${status}`,
      "the upstream itself fails: check its status page or log",
    );
  }
  if (status === 429) {
    return warning(
      check,
      `${took} with status 429`,
      "the key is over its rate limit: try again later",
    );
  }
  if (status !== 200) {
    return warning(
      check,
      `${took} with status ${status} to GET /models`,
      `the address is the base that ${
        BACKS[settings.dialect].path
      } is appended to, usually ending in /v1; not every upstream lists its models`,
    );
  }
  if (isPage) {
    return warning(
      check,
      `${took} with an HTML page`,
      "the URL is not that of an API: it usually ends in /v1",
    );
  }
  if (!lists) {
    return warning(
      check,
      `${took}, but not with a list of models: whether it can reply is unknown`,
      "the URL may not be that of an API: it usually ends in /v1",
    );
  }
  const names = models.map(({ id }) => id);
  const missing = models.length === 0
    ? []
    : [...new Set(asked)].filter((one) => !names.includes(one));
  return missing.length === 0 ? ok(check, `${took}, ${models.length} models`) : warning(
    check,
    `${took}, but does not list ${missing.slice(0, 6).join(", ")}`,
    `name a model of its own in the targets of routes; it has ${names.slice(0, 6).join(", ")}`,
  );
}

function adviceFor({ message, isOfCredentials }: NonNullable<Probe["fault"]>): string {
  if (isOfCredentials) {
    return "nothing was sent: correct the credentials of the upstream, see docs/upstreams.md#credentials";
  }
  if (/ENOTFOUND|EAI_AGAIN|getaddrinfo|lookup/i.test(message)) {
    return "host not found: check the URL and this machine's DNS";
  }
  if (/ECONNREFUSED|refused/i.test(message)) {
    return "connection refused: start the upstream, or check the port";
  }
  if (/InvalidContentType|corrupt message|EPROTO|ERR_REPLY_INVALID|wrong version/i.test(message)) {
    return "only one side uses TLS: check http:// or https:// in the URL";
  }
  if (/certificate|TLS|issuer|SSL/i.test(message)) {
    return "certificate not trusted: set upstreams.NAME.caCert, or fix the URL";
  }
  return "check the URL, firewalls, and whether the upstream is up";
}

/** Compares with whatever clocks the upstreams showed. */
function clock(probes: readonly { readonly probe: Probe; readonly atMs: number }[]): Finding {
  const off = probes.flatMap(({ probe: { clockMs, latencyMs }, atMs }) =>
    clockMs === undefined ? [] : [atMs - (latencyMs ?? 0) / 2 - clockMs]
  );
  if (off.length === 0) {
    return ok("clock", `${new Date().toISOString()} (no upstream clock to compare with)`);
  }
  const nearest = off.reduce((best, one) => Math.abs(one) < Math.abs(best) ? one : best);
  const seconds = Math.round(nearest / 1_000);
  return Math.abs(nearest) > CLOCK_SLACK_MS
    ? failed(
      "clock",
      `${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the upstreams' clocks`,
      "synchronize it (NTP): rate windows and expiry depend on it",
    )
    : ok("clock", "in step with the upstreams' clocks");
}
