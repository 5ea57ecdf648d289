import { type Config, databaseFile } from "../../settings/config/mod.ts";
import {
  type AnnouncedGateway,
  announcedGateway,
  DirectoryInUse,
  gatewayIdentity,
  gatewayIdsOf,
  lockHolders,
} from "../../ground/database/mod.ts";
import { leaseUntilMs } from "../../money/ledger/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { runningGateway } from "./address.ts";
import type { CommandContext } from "./context.ts";

/** Interval of looks at whether a lease is over, and whether a process has ended. */
const LOOK_MS = 250;
/** Time for a process that was killed to end. */
const END_MS = 10_000;
/** A gateway that still renews its lease after this time, beyond one lease, is not hanging. */
const RENEWED_MS = 60_000;
/** Waiting for a lease is worth a line. */
const TELL_AFTER_MS = 1_000;

/**
 * Finds a gateway that has the data directory and does not answer: it hangs, or was stopped.
 *
 * @returns What it announced, or `undefined` if there is none.
 */
export async function hungGateway({ settings }: Config): Promise<AnnouncedGateway | undefined> {
  const announced = await announcedGateway(settings.data);
  return announced !== undefined && await isTaken(settings.data) ? announced : undefined;
}

/** Says what to do about a gateway that hangs. */
export function hungMessage({ pid, url }: AnnouncedGateway, directory: string): string {
  return `The gateway with process ID ${pid} has ${directory} and does not answer at ${url}: it hangs, or was stopped. ` +
    "End that process, or let this one end it with --takeover=force";
}

/**
 * Ends a gateway that hangs, once the database says that its lease is over: one that is only slow renews it.
 *
 * @throws {Error} If it answers again, is not the process that has the directory, or does not end.
 */
export async function endHungGateway(
  context: CommandContext,
  config: Config,
  hung: AnnouncedGateway,
): Promise<void> {
  const { data } = config.settings;
  const { pid } = hung;
  const [holder, ...others] = await lockHolders(data);
  if (holder !== undefined && holder !== pid && !others.includes(pid)) {
    throw new Error(
      `Cannot take over: the process with ID ${holder} has ${data}, and not the gateway that has announced itself there ` +
        `(${pid}). End that process`,
    );
  }
  await leaseOver(context, config);
  if (await runningGateway(data) !== undefined) {
    throw new Error("Cannot take over by force: the gateway answers again. Use --takeover");
  }
  context.err(`Ending the gateway with process ID ${pid}, which does not answer\n`);
  context.signal(pid, "SIGKILL");
  const untilTick = performance.now() + END_MS;
  while (await isTaken(data)) {
    if (performance.now() > untilTick) {
      throw new Error(`Cannot take over: the process with ID ${pid} does not end`);
    }
    await delay(LOOK_MS);
  }
}

/**
 * Refuses to signal a gateway that runs where processes have other IDs, as in a container whose volume this is: here, its ID is that of
 * another process, which the signal would end.
 *
 * @throws {Error} If so.
 */
export async function checkProcess(
  { pid }: Pick<AnnouncedGateway, "pid">,
  directory: string,
): Promise<void> {
  const holders = await lockHolders(directory);
  if (holders.length === 0 || holders.includes(pid)) return;
  throw new Error(
    `The gateway on ${directory} has the process ID ${pid} where it runs, as in a container, and ${
      holders[0]
    } here: run this command ` +
      "where the gateway runs",
  );
}

/** Whether another process has a data directory. */
async function isTaken(directory: string): Promise<boolean> {
  try {
    using _identity = await gatewayIdentity(directory);
    return false;
  } catch (error) {
    if (error instanceof DirectoryInUse) return true;
    throw error;
  }
}

/** Waits until the leases of a data directory's gateway are over. */
async function leaseOver(context: CommandContext, config: Config): Promise<void> {
  await using parts = await context.openParts(config);
  const { database, clock } = parts;
  const { settings } = config;
  const ids = await gatewayIdsOf(settings.data);
  const patienceMs = databaseFile(settings) === undefined ? settings.outage.patienceMs : 0;
  const startedTick = performance.now();
  let isTold = false;
  for (;;) {
    const leftMs = await leaseUntilMs(database, ids, patienceMs) - clock.now();
    if (leftMs <= 0) return;
    if (!isTold && leftMs > TELL_AFTER_MS) {
      context.err(`Waiting ${Math.ceil(leftMs / 1_000)} s until its lease is over\n`);
      isTold = true;
    }
    if (performance.now() - startedTick > RENEWED_MS + settings.limits.holdLeaseMs) {
      throw new Error("Cannot take over by force: the gateway renews its lease. Use --takeover");
    }
    await delay(Math.min(leftMs, LOOK_MS));
  }
}
