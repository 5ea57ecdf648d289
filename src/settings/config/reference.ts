import { ENVIRONMENT } from "./environment.ts";
import { settingsJsonSchema } from "./load.ts";

/** The part of JSON Schema that the settings use. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
}

/** A bound that only says that a number is a safe integer. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/**
 * Documents all settings.
 *
 * @returns A Markdown table of paths, types, defaults and descriptions, formatted as `deno fmt` does.
 */
export function settingsReference(): string {
  const variables = new Map(Object.entries(ENVIRONMENT).map(([name, path]) => [path, name]));
  const rows = leavesOf(settingsJsonSchema() as Schema, "").map(({ path, schema }) => [
    `\`${path}\``,
    kindOf(schema),
    schema.default === undefined ? "" : `\`${escaped(JSON.stringify(schema.default))}\``,
    [
      escaped(schema.description ?? ""),
      variables.has(path) ? `\`${variables.get(path)}\`` : "",
    ].filter((text) => text !== "").join(" "),
  ]);
  return markdownTable([["setting", "type", "default", "description"], ...rows]);
}

function leavesOf(schema: Schema, path: string): { path: string; schema: Schema }[] {
  const inside = (name: string) => (path === "" ? name : `${path}.${name}`);
  if (schema.properties !== undefined) {
    return Object.entries(schema.properties).filter(([name]) => name !== "$schema")
      .flatMap(([name, one]) => leavesOf(one, inside(name)));
  }
  if (typeof schema.additionalProperties === "object" && schema.additionalProperties.properties) {
    return leavesOf(schema.additionalProperties, inside("NAME"));
  }
  const [object, ...others] = (schema.anyOf ?? []).filter((one) => one.properties !== undefined);
  if (object !== undefined && others.length === 0) {
    return [{ path, schema }, ...leavesOf(object, path)];
  }
  if (schema.items?.properties !== undefined) {
    return [{ path, schema }, ...leavesOf(schema.items, `${path}[]`)];
  }
  return [{ path, schema }];
}

function kindOf(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(", ");
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kindOf))].join(" or ");
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === "array") return `list of ${schema.items ? kindOf(schema.items) : "values"}`;
  if (schema.type === "object") return "object";
  if (schema.type !== "integer" && schema.type !== "number") return schema.type ?? "any";
  const { minimum, maximum } = schema;
  const from = minimum === undefined || minimum === -UNBOUNDED ? "" : ` from ${minimum}`;
  const to = maximum === undefined || maximum === UNBOUNDED ? "" : ` to ${maximum}`;
  return `${schema.type === "integer" ? "whole number" : "number"}${from}${to}`;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** A table in Markdown, its columns aligned as `deno fmt` does. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(3, ...rows.map((row) => [...row[at]!].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((text, at) => text + " ".repeat(widths[at]! - [...text].length)).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return `${[line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n")}\n`;
}
