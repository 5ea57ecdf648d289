import { text } from "../../../wire/dialects/mod.ts";

const REFERENCE = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/;

/** A value as our settings write it: the variable of `os.environ/NAME`, or the value. */
export function written(value: unknown): string | undefined {
  const found = text(value)?.trim();
  if (found === undefined || found === "") return undefined;
  const [, variable] = REFERENCE.exec(found) ?? [];
  return variable === undefined ? found : `\${${variable}}`;
}

/** The value that `os.environ/NAME` stands for. */
export function resolved(
  value: unknown,
  env: Readonly<Record<string, string>>,
): { readonly value?: string; readonly missing?: string } {
  const found = text(value)?.trim();
  if (found === undefined || found === "") return {};
  const [, variable] = REFERENCE.exec(found) ?? [];
  if (variable === undefined) return { value: found };
  const inEnvironment = env[variable];
  return inEnvironment ? { value: inEnvironment } : { missing: variable };
}
