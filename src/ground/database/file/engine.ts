import { dirname } from "../../std/mod.ts";
import { DatabaseError } from "../database.ts";
import type { Engine } from "../engine.ts";
import { makeDirectory } from "../gateway_identity.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { copyBefore, fillFile } from "./copies.ts";
import { EmbeddedDatabase, type EmbeddedOptions } from "./embedded.ts";

/** How a file is used that is written to. */
export type FileEngineOptions = Omit<EmbeddedOptions, "readOnly">;

/** The engine of an embedded libSQL file, which is made if it is not there. */
export function fileEngine(path: string, options: FileEngineOptions): Engine {
  return {
    async open() {
      await makeDirectory(dirname(path));
      // made here, for its owner alone: its log and every copy take the same mode
      await createPrivate(path);
      try {
        return await EmbeddedDatabase.open(path, options);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const code = error instanceof DatabaseError ? error.code : "SQLITE_CANTOPEN";
        throw sqliteError(code, `Cannot open the database ${path}: ${why}`, { cause: error });
      }
    },
    fill: (work) => fillFile(path, work),
    copyBefore,
  };
}

/**
 * Makes a file for its owner alone, if it is not there. One that is there is not opened: closing it would
 * drop all locks that this process has on it (fcntl(2)), those of the connections to it included.
 */
async function createPrivate(path: string): Promise<void> {
  try {
    (await Deno.open(path, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
