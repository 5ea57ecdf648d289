import { Time } from "../components.tsx";
import { duration, number } from "../format.ts";
import { type ObjectLabels, ObjectName } from "./object_names.tsx";

/** Characters of a value that a row shows. */
const MAX_CHARS = 120;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** A value of an operation as people write it: no quotes and brackets, names for IDs, times as the other pages show them. */
export function LogValue({ path, value, labels }: {
  path: string;
  value: unknown;
  labels: ObjectLabels;
}) {
  if (value === null || value === undefined || value === "") return <>none</>;
  if (typeof value === "boolean") return <>{value ? "yes" : "no"}</>;
  if (typeof value === "number") {
    return <>{/_ms$/.test(path) ? duration(value) : number(value)}</>;
  }
  if (typeof value === "string") {
    if (ISO_TIME.test(value)) return <Time ms={Date.parse(value)} />;
    return labels.has(value) ? <ObjectName id={value} labels={labels} /> : <>{cut(value)}</>;
  }
  if (!Array.isArray(value)) return <>{cut(JSON.stringify(value))}</>;
  if (value.length === 0) return <>none</>;
  const isPlain = value.every((one) => typeof one === "string" || typeof one === "number");
  return <>{cut(isPlain ? value.join(", ") : JSON.stringify(value))}</>;
}

/** The name of a value: `latency` of `latency_ms`, `prices, output` of `prices.output`. */
export function wordsOfPath(path: string): string {
  return path.replace(/_ms$/, "").replaceAll("_", " ").replaceAll(".", ", ");
}

function cut(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
