import { PostgresCluster } from "./postgres_cluster.ts";
import { sleep, until } from "./temp.ts";

/** How long a primary's silence is looked at before the standby is promoted. */
const NOTICE_MS = 300;
/** Before a primary is lost of which the standby is not to have everything. */
const BEHIND_MS = 300;

/** A primary and a standby, and who takes their places when a primary is lost: what Patroni does, with a machine for each. */
export class PostgresPair implements AsyncDisposable {
  readonly #isSynchronous: boolean;
  readonly #first: PostgresCluster;
  #primary: PostgresCluster;
  #standby: PostgresCluster;

  private constructor(one: PostgresCluster, other: PostgresCluster, isSynchronous: boolean) {
    this.#first = this.#primary = one;
    this.#standby = other;
    this.#isSynchronous = isSynchronous;
  }

  /** @param options.isSynchronous Whether a commit waits until the standby has it. */
  static async start(
    { isSynchronous }: { readonly isSynchronous: boolean },
  ): Promise<PostgresPair> {
    const settings = ["fsync=on", "max_connections=200", "wal_keep_size=512MB"];
    const one = await PostgresCluster.create({ settings });
    const pair = new PostgresPair(one, await PostgresCluster.create({ settings }), isSynchronous);
    await one.init();
    await one.start();
    await pair.#attach();
    return pair;
  }

  /** A URL with both servers, in the order in which they were started, whichever of them is the primary now. */
  get url(): string {
    const hosts = [this.#first, this.#primary === this.#first ? this.#standby : this.#primary];
    const places = hosts.map(({ port }) => `127.0.0.1:${port}`).join(",");
    return `postgres://postgres@${places}/postgres?target_session_attrs=read-write`;
  }

  /**
   * Loses the primary, promotes the standby, and makes a new one where the primary was.
   *
   * @param options.silentMs How long the primary is silent, as one whose network is lost, before it ends; meanwhile the standby is promoted.
   * @param options.isBehind Whether the standby was not sent what was committed last.
   * @param options.whileBehind Commits that. Default: nothing, as others commit all the time.
   * @returns How long no server took writes, in milliseconds.
   */
  async failOver(
    { silentMs = 0, isBehind = false, whileBehind = () => sleep(BEHIND_MS) }: {
      readonly silentMs?: number;
      readonly isBehind?: boolean;
      readonly whileBehind?: () => Promise<void>;
    } = {},
  ): Promise<number> {
    const lost = this.#primary;
    if (isBehind) {
      await lost.signal("SIGSTOP", "walsender");
      await whileBehind();
    }
    const lostTick = performance.now();
    if (silentMs > 0) await lost.signal("SIGSTOP");
    else await lost.kill();
    await sleep(NOTICE_MS);
    await this.#standby.promote();
    // else commits would wait for a standby that is gone
    await this.#waitFor("", this.#standby);
    const awayMs = performance.now() - lostTick;
    if (silentMs > 0) {
      await sleep(silentMs);
      await lost.kill();
    }
    this.#primary = this.#standby;
    this.#standby = lost;
    await this.#attach();
    return awayMs;
  }

  /** What both have logged. */
  async log(): Promise<string> {
    return await this.#primary.log() + await this.#standby.log();
  }

  async #attach(): Promise<void> {
    await this.#standby.copy(this.#primary);
    await this.#standby.start();
    if (this.#isSynchronous) await this.#waitFor("*", this.#primary);
    const state = this.#isSynchronous ? "sync" : "async";
    await until(async () => {
      const { rows } = await this.#primary.run("select sync_state from pg_stat_replication;\n");
      return rows.includes(state);
    }, { what: "a standby that follows" });
  }

  /** Has a server's commits wait for standbys of these names. */
  async #waitFor(names: string, server: PostgresCluster): Promise<void> {
    const { errors } = await server.run(
      `alter system set synchronous_standby_names = '${names}';\nselect pg_reload_conf();\n`,
    );
    if (errors.length > 0) throw new Error(errors.join("\n"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#standby.end();
    await this.#primary.end();
  }
}
