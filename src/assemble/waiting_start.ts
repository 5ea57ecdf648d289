import { WaitingDoor } from "../doors/http/mod.ts";
import { DatabaseError } from "../ground/database/mod.ts";
import { delay } from "../ground/std/mod.ts";
import type { Log } from "../ground/telemetry/mod.ts";
import { type Config, databaseFile } from "../settings/config/mod.ts";
import type { Environment, Gateway } from "./gateway.ts";

/** Time after which a start waits where clients see it: a disk that hangs fails nothing. */
const SOON_MS = 3_000;
/** Pause between two attempts. */
const PAUSE_MS = 1_000;
/** Interval of lines in the log. */
const REPEAT_MS = 30_000;

/** What is waited for once the database is open. */
const MODELS = "upstreams are asked for their models";

/** What a {@linkcode waitingStart} goes by. */
export interface WaitingStartOptions {
  readonly log: Log;
  readonly now: () => number;
  /** Whether it waits at all; else it fails, as the program that uses it wants to know. */
  readonly waits: boolean;
  /** Builds the gateway. */
  readonly start: (
    config: Config,
    environment: Pick<Environment, "databaseOpened" | "beforeListening">,
  ) => Promise<Gateway>;
}

/**
 * Starts a gateway, and waits for its database if that does not answer: meanwhile, its port answers 503, and `/readyz` says why.
 * Nothing is served from what an earlier process knew: what that had spent of its loans is for the database to say.
 *
 * @returns The gateway, not yet listening; it takes the port over when it does.
 * @throws {Error} Whatever else keeps it from starting.
 */
export async function waitingStart(
  config: Config,
  { log, now, waits, start }: WaitingStartOptions,
): Promise<Gateway> {
  await using stack = new AsyncDisposableStack();
  let waiting = stack;
  let door: WaitingDoor | undefined;
  const { settings } = config;
  const { host, port } = settings;
  const isServer = databaseFile(settings) === undefined;
  const listen = (why: string) => {
    if (!waits) return;
    if (door !== undefined) {
      door.why = why;
      return;
    }
    const onInterruption = (error: unknown) =>
      log.error("stopped listening: out of file descriptors?", { error: String(error) });
    const { limits: { idleConnectionMs: idleMs }, cors: { origins } } = settings;
    door = stack.use(new WaitingDoor({ host, port, now, idleMs, origins, onInterruption }, why));
    const what = why === MODELS
      ? "waiting for upstreams to list their models: requests get 503 until they have, or have not in time"
      : "waiting for the database: requests get 503 until it answers";
    log.warn(what, { port: door.port });
  };
  let loggedTick = -Infinity;
  for (;;) {
    let opening = "the database is being opened";
    const soon = setTimeout(() => {
      if (door !== undefined) return;
      try {
        listen(opening);
      } catch {
        // somebody else listens there: the gateway says so when it does
      }
    }, SOON_MS);
    try {
      const gateway = await start(door === undefined ? config : at(config, door.port), {
        databaseOpened() {
          opening = MODELS;
          if (door !== undefined) door.why = opening;
        },
        beforeListening: () => waiting.disposeAsync(),
      });
      waiting = stack.move();
      return gateway;
    } catch (error) {
      if (!waits || !isServer || !isAway(error)) throw error;
      listen("the database does not answer");
      const tick = performance.now();
      if (tick - loggedTick >= REPEAT_MS) {
        loggedTick = tick;
        log.error("the gateway cannot start: its database does not answer", {
          error: String(error),
        });
      }
    } finally {
      clearTimeout(soon);
    }
    await delay(PAUSE_MS);
  }
}

/** Whether a server does not answer, or not yet; one that rejects a token has answered. */
function isAway(error: unknown): boolean {
  return error instanceof DatabaseError && error.outcomeUnknown &&
    !/HTTP status 4\d\d/.test(error.message);
}

function at(config: Config, port: number): Config {
  return { ...config, settings: { ...config.settings, port } };
}
