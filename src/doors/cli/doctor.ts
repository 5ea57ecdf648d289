import type { Command } from "commander";
import { checkReceiver, diskSpace } from "../../operating/alerts/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import {
  type Config,
  ConfigError,
  databaseFile,
  defaultDataPlace,
  outboxDirectories,
} from "../../settings/config/mod.ts";
import { resolvePath } from "../../ground/std/mod.ts";
import {
  databaseBytes,
  foreignOutboxes,
  MIGRATIONS,
  postgresHealth,
  probeWrite,
} from "../../ground/database/mod.ts";
import { systemResolve } from "../../requests/images/mod.ts";
import { latestRecordAt } from "../../money/usage/mod.ts";
import { answersAt, gatewayAddress, runningGateway, settingsDrift } from "./address.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { failedText, size } from "./format.ts";
import { paymentFindings } from "./doctor_payments.ts";
import { postgresAdvice, postgresFindings, replicaFinding } from "./doctor_postgres.ts";
import { signInFindings } from "./doctor_sign_in.ts";
import { CLOCK_SLACK_MS, upstreamFindings } from "./doctor_upstreams.ts";
import { failed, type Finding, ok, warning } from "../../ground/finding.ts";
import { findingLine } from "./finding.ts";
import { progress } from "./progress.ts";
import { hostAndWay } from "./way_out.ts";
import { servedCatalog } from "./served_catalog.ts";
import { exists, type PlaceOptions, readSettings } from "./settings.ts";
import { upstreamDrift } from "./tool_models.ts";

interface Options extends PlaceOptions {
  readonly local?: boolean;
  readonly running?: boolean;
}

const LITTLE_SPACE_BYTES = 1e9;
const SLOW_COMMIT_MS = 50;

/** `sluice doctor` */
export function doctorCommand(program: Command, context: CommandContext): void {
  defineCommand<Options>(program, context, {
    name: "doctor",
    description: "check the settings, database, clock and upstreams, with advice on each problem",
    options: [
      option("--local", "skip the upstreams"),
      option(
        "--running",
        "only check that a gateway runs on this data directory, for health checks",
      ),
    ],
    help: "\nThe exit status is 1 if a check fails. Upstreams are only asked to list their models.",
    opens: "place",
    async run({ options, print }) {
      using told = progress(context, "checking");
      const findings = await examine(context, options, told.tell);
      told.end();
      const failed = findings.filter(({ state }) => state === "failed").length;
      print(
        { ok: failed === 0, findings },
        () => findings.map((one) => findingLine(one, context.colour)).join(""),
      );
      if (failed > 0) throw new Error(failedText(failed, "check"));
    },
  });
}

async function examine(
  context: CommandContext,
  options: Options,
  tell: (what: string) => void,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  tell("settings");
  if (options.running) return [await answering(await dataDirectory(context, options))];
  let config: Config;
  let catalog: Catalog;
  try {
    config = await readSettings(context, options).catch(async (error) => {
      // what only answering needs, such as an upstream's key, keeps nothing else from being looked at
      const rest = await readSettings(context, options, { serving: false }).catch(() => undefined);
      if (rest === undefined) throw error;
      findings.push(
        warning(
          "settings",
          sentence(error),
          "the gateway may have the variable in its own environment",
        ),
      );
      return rest;
    });
    catalog = await servedCatalog(config, { ...context, ask: false });
  } catch (error) {
    return [
      failed(
        "settings",
        sentence(error),
        "fix the settings; sluice config check reports the same errors",
      ),
    ];
  }
  const { file, warnings } = config;
  findings.push(
    ...catalog.warnings.map((one) =>
      (catalog.routes.length === 0 ? failed : warning)("routes", one, "see docs/upstreams.md")
    ),
  );
  findings.push(ok("settings", `${file ?? "no settings file"}; ${catalog.routes.length} routes`));
  findings.push(
    ...warnings.map((one) => warning("settings", one, "correct it, unless it is what you want")),
  );
  tell("database");
  findings.push(...await database(context, config));
  if (await exists(config.settings.data)) findings.push(await space(config));
  tell("gateway");
  findings.push(await gateway(config));
  findings.push(...await payments(context, config));
  const drift = await settingsDrift(config);
  if (drift !== undefined) {
    findings.push(warning("settings", drift.text, drift.advice));
  }
  if (options.local) return findings;
  tell("receivers of alerts");
  findings.push(...await receivers(config));
  findings.push(...await signInFindings(config, context.now));
  const { findings: ofUpstreams, clock } = await upstreamFindings(config, catalog, {
    now: context.now,
    tell,
    drift: drift === undefined ? await upstreamDrift(config) : undefined,
  });
  findings.push(...ofUpstreams, clock);
  return findings;
}

async function database(context: CommandContext, config: Config): Promise<Finding[]> {
  const file = databaseFile(config.settings);
  if (file !== undefined && !await exists(file)) {
    return [
      warning("database", `none at ${file} yet`, "the first start creates it: sluice"),
    ];
  }
  try {
    await using parts = await context.openParts(config);
    const { database } = parts;
    const startedTick = performance.now();
    await probeWrite(database);
    const ms = performance.now() - startedTick;
    const health = await postgresHealth(database);
    const about = [
      database.place,
      ...(file !== undefined ? [size(await databaseBytes(database))] : []),
      ...(health === undefined ? [] : [
        `PostgreSQL ${health.version}`,
        size(health.bytes),
        health.isEncrypted ? "encrypted" : "not encrypted",
      ]),
      `schema ${MIGRATIONS.at(-1)!.version}`,
      `a commit takes ${ms.toFixed(1)} ms`,
    ].join(", ");
    const found = ms > SLOW_COMMIT_MS
      ? warning("database", about, "the disk is slow or busy: every response waits for a commit")
      : ok("database", about);
    const foreign = (await foreignOutboxes(database, outboxDirectories(config.settings)))
      .map((path) =>
        failed(
          "outbox",
          `${path} has settlements of another database, which nobody charges`,
          "start a gateway once with the database that they are for, or move the file away",
        )
      );
    const latest = await latestRecordAt(database);
    const all = [
      found,
      ...(health === undefined ? [] : postgresFindings(health)),
      ...(database.replica === undefined ? [] : [await replicaFinding(database.replica)]),
      ...foreign,
    ];
    return latest === undefined || latest <= parts.clock.now() + CLOCK_SLACK_MS ? all : [
      ...all,
      failed(
        "clock",
        `the latest request is dated ${new Date(latest).toISOString()}, in the future`,
        "synchronize this machine's clock (NTP): rate windows and expiry depend on it",
      ),
    ];
  } catch (error) {
    return [failed(
      "database",
      sentence(error),
      postgresAdvice(error) ??
        "see docs/operating.md: damaged file, full disk, file permissions, or a server that is down",
    )];
  }
}

async function payments(context: CommandContext, config: Config): Promise<Finding[]> {
  const file = databaseFile(config.settings);
  if (config.settings.payments.stripe === undefined) return [];
  if (file !== undefined && !await exists(file)) return []; // the check of the database says so
  try {
    await using parts = await context.openParts(config);
    const { answers } = await gatewayAddress(config);
    return await paymentFindings(config, parts.database, {
      nowMs: parts.clock.now(),
      isRunning: answers,
    });
  } catch (error) {
    return [failed("payments", sentence(error), "see the check of the database")];
  }
}

async function space({ settings }: Config): Promise<Finding> {
  try {
    const { freeBytes } = await diskSpace(settings.data);
    const detail = `${size(freeBytes)} free in ${settings.data}`;
    return freeBytes < LITTLE_SPACE_BYTES
      ? warning("disk", detail, "free some space: without it the gateway returns 503")
      : ok("disk", detail);
  } catch (error) {
    return warning("disk", sentence(error), "check the disk of the data directory yourself");
  }
}

/** Receivers of alerts: none of them is sent anything. */
async function receivers({ settings: { alerts, proxies } }: Config): Promise<Finding[]> {
  return await Promise.all(
    Object.entries(alerts.receivers).map(async ([name, receiver]) => {
      const check = `alerts ${name}`;
      const fault = await checkReceiver(receiver, { ...alerts, proxies, resolve: systemResolve });
      return fault === undefined
        ? ok(check, `${hostAndWay(receiver.url, { proxies })} takes connections`)
        : failed(
          check,
          fault,
          "check alerts.receivers; a private host needs an entry, host or host:port, in alerts.allowPrivateHosts; then: sluice alerts test",
        );
    }),
  );
}

/**
 * The data directory, also while the settings have faults: a gateway that runs keeps those that it has read, and must not be ended
 * as unhealthy because somebody edits their file.
 */
async function dataDirectory(context: CommandContext, options: Options): Promise<string> {
  try {
    return (await readSettings(context, options, { serving: false })).settings.data;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const named = options.data ?? (context.env.SLUICE_DATA || undefined);
    return named === undefined
      ? (await defaultDataPlace(context)).path
      : resolvePath(context.directory, named);
  }
}

/** Whether the gateway of a data directory answers, by the address that it left there. */
async function answering(directory: string): Promise<Finding> {
  const url = (await runningGateway(directory))?.url;
  return url !== undefined
    ? ok("gateway", `running at ${url}`)
    : failed("gateway", `not running on ${directory}`, "start it with: sluice");
}

async function gateway(config: Config): Promise<Finding> {
  const { url, local, answers } = await gatewayAddress(config);
  if (!answers) {
    const where = config.settings.data;
    return warning("gateway", `not running on ${where}`, "start it with: sluice");
  }
  return url === local || await answersAt(url, config.settings.proxies)
    ? ok("gateway", `running at ${local}`)
    : warning(
      "gateway",
      `running at ${local}, but not reachable at the public address ${url}`,
      "check the reverse proxy, DNS and certificate, or fix SLUICE_PUBLIC_URL",
    );
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
