import DatabaseConstructor from "libsql";
import { sluice } from "../fake/command.ts";
import type { Callers } from "./callers.ts";

/** As long as the gateway tries to settle a reply before it gives up, less what clocks differ by. */
const PATIENCE_MS = 14_500;
const MAX_NAMED = 5;

/** What the files say once the gateway has ended. */
export interface AtRest {
  /** What must not be. */
  readonly failures: readonly string[];
  /** Whether a file is damaged, so that it makes no sense to go on. */
  readonly isDamaged: boolean;
  readonly charges: number;
  /** Charged although the request was answered with an error, after the gateway had tried for all its time. */
  readonly lateUnknown: number;
  /** Charged for requests that got no reply. */
  readonly unanswered: number;
}

interface Connection {
  prepare(sql: string): { all(args: readonly unknown[]): Record<string, unknown>[] };
  close(): void;
}

/**
 * Checks a copy of the files of a gateway that does not run, with the log that it left.
 *
 * @param directory Of the gateway: its settings and its `data`.
 * @param copy A directory for the copy, which is kept.
 */
export async function checkAtRest(
  directory: string,
  copy: string,
  callers: Callers,
): Promise<AtRest> {
  const failures: string[] = [];
  await copyFiles(`${directory}/data`, copy);
  const damage = integrityOf(`${copy}/sluice.db`);
  if (damage !== undefined) failures.push(`the file is damaged: ${damage}`);
  failures.push(...await auditOf(directory, copy)); // which takes what the outbox has kept
  let counts = { charges: 0, lateUnknown: 0, unanswered: 0 };
  try {
    const charges = await readCharges((sql) => Promise.resolve(read(`${copy}/sluice.db`, sql)));
    counts = compareCharges(charges, [callers], failures);
  } catch (error) {
    failures.push(`the charges cannot be read: ${error}`);
  }
  return { failures, isDamaged: damage !== undefined, ...counts };
}

async function copyFiles(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isFile } of Deno.readDir(from)) {
    // the index is rebuilt from the log
    if (isFile && !name.endsWith("-shm")) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** What `integrity_check` finds; undefined for nothing. */
export function integrityOf(path: string): string | undefined {
  try {
    const rows = read(path, "pragma integrity_check");
    const found = rows.map(({ integrity_check: text }) => String(text)).join("; ");
    return found === "ok" ? undefined : found.slice(0, 500);
  } catch (error) {
    return String(error);
  }
}

function read(path: string, sql: string): Record<string, unknown>[] {
  const connection = new DatabaseConstructor(path) as unknown as Connection;
  try {
    return connection.prepare(sql).all([]);
  } finally {
    connection.close();
  }
}

/** Credits by the ID of the request. */
type Amounts = ReadonlyMap<string, number>;

/** What the books say of requests. */
export interface Charges {
  /** By records. */
  readonly recorded: Amounts;
  /** By entries. */
  readonly taken: Amounts;
}

const RECORDED = "select request_id as id, charged_credits as credits from usage_records";
const TAKEN =
  "select cause_id as id, -sum(credits) as credits from entries where kind = 'charge' group by 1";

/** Reads both, by what runs a query. */
export async function readCharges(
  all: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>,
): Promise<Charges> {
  const amounts = async (sql: string) =>
    new Map((await all(sql)).map(({ id, credits }) => [String(id), Number(credits)]));
  return { recorded: await amounts(RECORDED), taken: await amounts(TAKEN) };
}

/** Compares what callers were told with the charges: records, and the entries that took the credits. */
export function compareCharges(
  { recorded, taken }: Charges,
  callers: readonly Callers[],
  failures: string[],
) {
  const wrong: string[] = [];
  const tooMuch: string[] = [];
  let lateUnknown = 0;
  for (const one of callers) {
    for (const [id, credits] of one.acknowledged) {
      const [record, entry = 0] = [recorded.get(id), taken.get(id)];
      if (record === credits && entry === credits) continue;
      if (one.isNewlyWrong(id)) {
        wrong.push(`${id} of ${credits}: recorded ${record}, taken ${entry}`);
      }
    }
    for (const [id, { startTick, endTick, error }] of one.refused) {
      const credits = taken.get(id) ?? 0;
      if (credits === 0 && (recorded.get(id) ?? 0) === 0) continue;
      const ms = Math.round(endTick - startTick);
      if (ms >= PATIENCE_MS) lateUnknown++;
      else if (one.isNewlyWrong(id)) {
        tooMuch.push(`${id} of ${credits}, refused after ${ms} ms: ${error}`);
      }
    }
  }
  const known = (id: string) =>
    callers.some(({ acknowledged, refused }) => acknowledged.has(id) || refused.has(id));
  const unanswered = [...taken.keys()].filter((id) => !known(id)).length;
  const withoutReply = callers.reduce((sum, one) => sum + one.unanswered, 0);
  name(failures, "acknowledged and not charged exactly once", wrong);
  name(failures, "refused and charged", tooMuch);
  if (unanswered > withoutReply) {
    failures.push(`${unanswered} charges of unknown requests; ${withoutReply} had no reply`);
  }
  return { charges: taken.size, lateUnknown, unanswered };
}

function name(failures: string[], what: string, found: readonly string[]): void {
  if (found.length === 0) return;
  failures.push(`${found.length} × ${what}: ${found.slice(0, MAX_NAMED).join("; ")}`);
}

/** The gateway's own audit of the copy. */
async function auditOf(directory: string, copy: string): Promise<string[]> {
  const place = ["--data", copy, "--config", `${directory}/sluice.jsonc`];
  const { code, out, err } = await sluice(["credits", "audit", "--json", ...place], { directory });
  return code === 0 ? [] : [`the audit: exit ${code}: ${out.slice(0, 600)} ${err.slice(0, 300)}`];
}
