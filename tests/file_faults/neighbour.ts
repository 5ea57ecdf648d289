/**
 * Another process at the same file, as a command beside a running gateway is: opens it, writes, closes it, again and again
 * until it is killed. After each write the gateway's own pages are out of date, so that it has to read.
 *
 * The argument is the path of the database.
 */

import DatabaseConstructor from "libsql";
import { sleep } from "../fake/temp.ts";

/** The driver's own types do not know that statements take their arguments as one array. */
interface Connection {
  exec(sql: string): void;
  close(): void;
}

const PAUSE_MS = 60;
const [path = ""] = Deno.args;

while (true) {
  const connection = new DatabaseConstructor(path) as unknown as Connection;
  try {
    connection.exec("pragma busy_timeout = 1000");
    connection.exec("pragma wal_autocheckpoint = 0");
    connection.exec("update probes set number = number + 1");
  } catch {
    // the gateway writes just now
  } finally {
    connection.close();
  }
  await sleep(PAUSE_MS);
}
