import type { Command } from "commander";
import { type Catalog, SIMULATOR } from "../../settings/catalog/mod.ts";
import type { Config } from "../../settings/config/mod.ts";
import { bufferedWriter, createLog, logSettings, PIPE_BYTES } from "../../ground/telemetry/mod.ts";
import type { Announcement } from "../../ground/database/mod.ts";
import { runningGateway } from "./address.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { discoverUpstreams } from "../../requests/upstreams/mod.ts";
import { checkProcess, endHungGateway, hungGateway, hungMessage } from "./hung_gateway.ts";
import { describe } from "./init.ts";
import { exists, type PlaceOptions, readSettings, tryPort } from "./settings.ts";
import { welcome } from "./welcome.ts";

interface Options {
  readonly host?: string;
  readonly port?: string;
  readonly workers?: string;
  readonly takeover?: true | string;
}

/** `sluice` and `sluice serve` */
export function serveCommand(program: Command, context: CommandContext): void {
  defineCommand<Options>(program, context, {
    name: "serve",
    description: "run the gateway (the default)",
    isDefault: true,
    options: [
      option("--host <host>", "address to listen on (default: 127.0.0.1)"),
      option("--port <port>", "port to listen on; 0 picks a free one (default: 8787)"),
      option(
        "--workers <n>",
        "threads that serve requests; auto: one per processor core (default: 1)",
      ),
      option(
        "--takeover [how]",
        "take over from the gateway that runs on the data directory, if one does; force: end one that hangs",
      ),
    ],
    help: "\nExample:\n  sluice serve --port 8080 --data /var/lib/sluice",
    opens: "settings",
    namesPlaces: true,
    json: false,
    run: ({ config, options }) => run(context, config, options),
  });
}

async function run(
  context: CommandContext,
  read: Config,
  options: Options & PlaceOptions,
): Promise<void> {
  const { settings } = read;
  const write = bufferedWriter(Deno.stderr, settings.workers === 1 ? {} : { maxBytes: PIPE_BYTES });
  const log = createLog({ ...logSettings(settings), now: context.now, write });
  for (const warning of read.warnings) log.warn(warning);
  if (options.takeover !== undefined && options.takeover !== true && options.takeover !== "force") {
    throw new UsageError(`--takeover ${options.takeover}: leave it without a value, or say force`);
  }
  const running = await runningGateway(settings.data);
  const hung = running === undefined ? await hungGateway(read) : undefined;
  if (hung !== undefined) {
    if (options.takeover !== "force") throw new Error(hungMessage(hung, settings.data));
    assertSameAddress(hung, read);
    await endHungGateway(context, read, hung);
  }
  const before = running ?? hung;
  const config = before === undefined ? read : atPortOf(before, read);
  if (running !== undefined && !options.takeover) {
    throw new Error(
      `A gateway is already running at ${running.url} on ${settings.data}: use that one, take over from it with ` +
        "--takeover, or start another on a directory of its own with --data DIR --port 0",
    );
  }
  if (running === undefined) {
    tryPort(config.settings); // before a first start makes a key that it could not show
  } else {
    assertSameAddress(running, read);
    await checkProcess(running, settings.data);
  }
  const readAgain = async (file?: string) => {
    const own = await sameFile(config, options);
    return refuseEmpty(
      config,
      await readSettings(context, file === undefined ? own : { ...own, config: file }, {
        namesPlaces: true,
      }),
    );
  };
  // a start takes as long as its database does not answer, and signals come meanwhile as well
  const stopRequested = context.stopRequested();
  let isReloadAsked = false;
  let reload = () => {
    isReloadAsked = true;
  };
  context.reloadRequested(() => reload());
  const opening = context.openGateway(config, log, {
    takeover: running !== undefined,
    waits: running === undefined, // else that one serves meanwhile
    readSettings: readAgain,
    settingsApplied: ({ settings }) => log.configure(logSettings(settings)),
  });
  const gateway = await Promise.race([opening, stopRequested]);
  if (typeof gateway === "string") {
    opening.then((late) => late.stop(), () => {}); // the process ends before
    log.info("stopped before it served", { signal: gateway });
    write.flush();
    return;
  }
  reload = () => void gateway.reload(readAgain);
  if (isReloadAsked) reload();
  // it can be found from now on
  let handOverRequested = context.handOverRequested();
  let url: string;
  try {
    url = (await gateway.listen()).url;
    if (running !== undefined) context.signal(running.pid, "SIGUSR2");
  } catch (error) {
    await gateway.stop();
    throw error;
  }
  gateway.guardProcess();
  const { catalog } = gateway;
  const { firstKey, owner, sessions } = gateway;
  context.out(welcome({
    config,
    catalog,
    unlisted: gateway.unlisted,
    address: settings.publicUrl ?? url,
    listening: url,
    place: gateway.database.place,
    ownerEmail: owner.email,
    firstKey,
    signInToken: firstKey === undefined ? undefined : await sessions.makeLink(owner),
    found: await unusedUpstreams(context, catalog),
  }));
  let signal: string | undefined;
  while ((signal = await Promise.race([stopRequested, handOverRequested])) === undefined) {
    handOverRequested = context.handOverRequested();
    log.info("handing over: another process takes new connections, in-flight requests finish");
    const result = await Promise.race([stopRequested, gateway.handOver()]);
    if (result === true) {
      log.info("stopped");
      write.flush();
      return;
    }
  }
  log.info("shutting down: new requests are rejected, in-flight requests finish", { signal });
  const { cutOff } = await gateway.stop();
  log.info("stopped", { cut_off: cutOff });
  write.flush();
}

/**
 * Refuses settings whose file has nothing in it any more: it was truncated, not edited.
 *
 * @throws {Error} If so.
 */
function refuseEmpty(before: Config, next: Config): Config {
  const isFromFile = ({ origins }: Config) =>
    [...origins.values()].some((origin) => origin.startsWith("file "));
  if (!isFromFile(before) || isFromFile(next)) return next;
  throw new Error(
    `The settings file ${before.file} is empty: write {} if that is what you want, and restart`,
  );
}

/** @throws {Error} If the settings name another host or port than the gateway listens on that is to hand over. */
function assertSameAddress({ url, host }: Announcement, { settings }: Config): void {
  const port = Number(new URL(url).port);
  const refuse = (what: string, own: string | number, other: string | number) => {
    throw new Error(
      `Cannot take over: the gateway listens on ${what} ${own}, and the settings say ${other}. Its clients would be refused: ` +
        `restart it to change the ${what}`,
    );
  };
  if (settings.port !== 0 && settings.port !== port) refuse("port", port, settings.port);
  if (host && settings.host !== host) refuse("host", host, settings.host);
}

/** The options with the settings file that the gateway was started with, wherever another one may be by now. */
async function sameFile<O extends PlaceOptions>(
  { file, places: { settings } }: Config,
  options: O,
): Promise<O> {
  const own = file ?? (await exists(settings.path) ? settings.path : undefined);
  return own === undefined ? options : { ...options, config: own };
}

/** Settings whose port is that of a running gateway, if they leave the choice. */
function atPortOf({ url }: Announcement, config: Config): Config {
  const { settings } = config;
  const port = settings.port === 0 ? Number(new URL(url).port) : settings.port;
  return { ...config, settings: { ...settings, port } };
}

/** What could answer instead of the simulator, for people. */
async function unusedUpstreams({ env, now }: CommandContext, catalog: Catalog): Promise<string[]> {
  const simulated = catalog.routes.every(({ targets }) =>
    targets.every(({ upstream }) => upstream === SIMULATOR)
  );
  return simulated ? (await discoverUpstreams({ env, now })).map(describe) : [];
}
