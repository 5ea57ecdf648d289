import { createHash } from "node:crypto";
import { type Database, DatabaseError, type Statement } from "./database.ts";
import type { Writing } from "./group_writer.ts";
import type { Definitions } from "./definitions.ts";
import { nameOf, type RuleObject } from "./rule_objects.ts";
import { SQLITE_DEFINITIONS } from "./sqlite/definitions.ts";

/** Triggers and views that decide one thing together. */
export interface Rule {
  /** What they decide, such as `admit`. */
  readonly name: string;
  /** In the order in which they are created. */
  readonly objects: readonly RuleObject[];
}

/** All rules of a program. They are installed whole or not at all. */
export interface RuleSet {
  /**
   * Raised by 1 with each released change of a rule. Where two programs share a database, the rules of the
   * higher revision stay installed.
   */
  readonly revision: number;
  readonly rules: readonly Rule[];
  /** Writes that may be kept in an outbox before they are put to the rules. */
  readonly behind?: readonly Writing[];
}

/** The rules that a database has. */
export interface InstalledRules {
  readonly revision: number;
  readonly hash: string;
  /** Such as `trigger admissions_decide`. */
  readonly objects: readonly string[];
}

const READ = "select revision, hash, objects from installed_rules where id = 1";
/**
 * Fails, and the transaction with it, when another gateway has installed rules since they were read: a hash
 * must not be null.
 */
const REPLACE = `update installed_rules
  set revision = ?, hash = case when revision = ? and hash = ? then ? end, objects = ?, installed_at_ms = ? where id = 1`;

const OBJECT = /^(trigger|view) [a-z_]+$/;

/** The statements that create what rules are made of, in their order. */
export function statementsOfRules(
  { rules }: RuleSet,
  definitions: Definitions = SQLITE_DEFINITIONS,
): string[] {
  return rules.flatMap(({ objects }) => objects.flatMap((object) => definitions.create(object)));
}

/** SHA-256 of all rule texts as an engine gets them, hexadecimal. */
export function hashOfRules(rules: RuleSet, definitions?: Definitions): string {
  const statements = statementsOfRules(rules, definitions);
  return createHash("sha256").update(JSON.stringify(statements)).digest("hex");
}

/** The objects that rules create, in their order. */
export function objectsOfRules({ rules }: RuleSet): string[] {
  return rules.flatMap(({ objects }) => objects.map(nameOf));
}

/** The rules that a database has; undefined if their row is missing. */
export async function installedRules(database: Database): Promise<InstalledRules | undefined> {
  const row = await database.one(READ);
  if (row === undefined) return undefined;
  const objects: unknown = JSON.parse(String(row.objects));
  if (!Array.isArray(objects) || !objects.every((one) => OBJECT.test(String(one)))) {
    throw new DatabaseError("SLUICE_RULES", "The table installed_rules lists unknown objects");
  }
  return { revision: Number(row.revision), hash: String(row.hash), objects: objects.map(String) };
}

/**
 * Whether a database keeps the rules that it has: they are the program's own, or of a higher revision.
 *
 * An older program never replaces newer rules, so that gateways of two versions at one server do not take
 * turns at it. It works with them as long as the schema is the same (`ledger/rules/mod.ts` says why).
 */
export function keepsRules(
  installed: InstalledRules | undefined,
  rules: RuleSet,
  definitions: Definitions,
): boolean {
  if (installed === undefined) return false;
  return installed.revision > rules.revision ||
    installed.revision === rules.revision && installed.hash === hashOfRules(rules, definitions);
}

/** Statements that drop the previous rules; migrations run without any. */
export function dropRules(objects: readonly string[], { drop }: Definitions): Statement[] {
  return objects.map((object) => ({ sql: drop(object) }));
}

/** Statements that install rules, in the transaction that dropped the earlier ones. */
export function installRules(
  rules: RuleSet,
  { before, nowMs, definitions }: {
    readonly before: InstalledRules | undefined;
    readonly nowMs: number;
    readonly definitions: Definitions;
  },
): Statement[] {
  const objects = objectsOfRules(rules);
  const hash = hashOfRules(rules, definitions);
  return [
    {
      sql: REPLACE,
      args: [
        rules.revision,
        before?.revision ?? 0,
        before?.hash ?? "",
        hash,
        JSON.stringify(objects),
        nowMs,
      ],
    },
    ...dropRules(objects, definitions),
    ...statementsOfRules(rules, definitions).map((sql) => ({ sql })),
  ];
}
