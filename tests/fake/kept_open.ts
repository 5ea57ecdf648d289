import { openStore, type Store } from "../../src/assemble/mod.ts";
import type { Database, EmbeddedDatabase } from "../../src/ground/database/mod.ts";
import { RULES } from "../../src/money/ledger/mod.ts";
import type { Config } from "../../src/settings/config/mod.ts";

/** A database that stays open between the commands of a test, which `sluice` of `shell.ts` is given. */
export interface KeptOpen extends AsyncDisposable {
  readonly openParts: (config: Config) => Promise<Store>;
  /** Closes it before its file is replaced; the next command opens it again. */
  close(): Promise<void>;
}

/**
 * Keeps the database of one directory open between commands: opening and closing it takes ten times as long as most commands
 * need. For tests of what commands do; tests of how a database is found, made and opened leave that to each command.
 *
 * @param options.now The database's clock.
 */
export function keptOpen({ now = Date.now }: { readonly now?: () => number } = {}): KeptOpen {
  let kept: EmbeddedDatabase | undefined;
  const options = { besideGateway: true, now };
  const close = async () => {
    await kept?.close();
    kept = undefined;
  };
  return {
    async openParts(config) {
      // where a command is tried out, before it makes a database
      const isThrownAway = /\/sluice-rehearsal-\w+$/.test(config.settings.data);
      if (isThrownAway) return await openStore(config, options);
      if (kept !== undefined) {
        // as one that is opened does
        await kept.takeOutboxes(RULES.behind ?? []);
        return await openStore(config, { ...options, opened: leftOpen(kept) });
      }
      return await openStore(config, {
        ...options,
        wrapDatabase(database) {
          kept = database as EmbeddedDatabase;
          return leftOpen(database);
        },
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A database which who is done with it does not close. */
function leftOpen(database: Database): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name === "close") return () => Promise.resolve();
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
