import type { Mutation } from "../mutation.ts";

const FILES = "src/ground/files/replace_file.ts";
const AMOUNTS = "tests/doors/amounts_test.ts";
const WHOLE = "src/ground/amounts/whole.ts";
const HOSTS = "tests/doors/cli/hosts_test.ts";
const WRITTEN = "tests/doors/cli/written_files_test.ts";

/** What commands write, read and ask. */
export const COMMANDS: readonly Mutation[] = [
  {
    name: "writes-over-anything",
    file: FILES,
    find: "if (found === undefined || found.isFile) return found;",
    replace: "if (found === undefined || found.isFile || found.isSymlink) return found;",
    tests: [{ file: WRITTEN, filter: "what writes a file" }],
    why: "A backup would replace a pipe, a link or a device.",
  },
  {
    name: "leaves-a-file-beside",
    file: FILES,
    find: "    await Deno.remove(beside).catch(() => {});\n    throw error;",
    replace: "    throw error;",
    tests: [{ file: "tests/settings/config/settings_editor_test.ts" }],
    why: "A write that fails would leave its file beside the target.",
  },
  {
    name: "reader-that-ends-early",
    file: "main.ts",
    find: "if (!(error instanceof Deno.errors.BrokenPipe)) throw error;",
    replace: "throw error;",
    tests: [{ file: WRITTEN, filter: "ends early" }],
    why: "A command whose output goes to head would end with a stack trace.",
  },
  {
    name: "host-as-it-was-typed",
    file: "src/settings/config/hosts.ts",
    find: "if (high === undefined) return host;",
    replace: "if (high === undefined) return text;",
    tests: [{ file: HOSTS, filter: "every host" }],
    why: "--host '[::1]' would print an address that nobody can use.",
  },
  {
    name: "name-instead-of-its-address",
    file: "src/doors/http/serve.ts",
    find: "url: listenUrl(host, port, bound),",
    replace: "url: listenUrl(host, port),",
    tests: [{ file: HOSTS, filter: "health check agree" }],
    why: "The health check of a gateway that listens on a name would say that it does not run.",
  },
  {
    name: "amount-in-any-notation",
    file: WHOLE,
    find: "if (!/^[0-9]+$/.test(value)) return unplain(value);",
    replace: 'if (Number.isNaN(Number(value))) return "is not written in plain digits";',
    tests: [{ file: AMOUNTS, filter: "credits" }],
    why: "0x10 would be 16 credits, and 1e2 a hundred.",
  },
  {
    name: "amount-beyond-its-limit",
    file: WHOLE,
    find: 'return number > max ? "is too high" : undefined;',
    replace: "return undefined;",
    tests: [{ file: AMOUNTS, filter: "whole numbers" }],
    why: "A number beyond the limit would be taken, and lose its last digits.",
  },
  {
    name: "money-without-digits",
    file: "src/ground/amounts/decimal.ts",
    find: "if (whole === undefined) throw new AmountError(words, text, unplain(text));",
    replace: "if (whole === undefined) return Math.round(Number(text) * 10 ** decimals);",
    tests: [{ file: AMOUNTS, filter: "money" }],
    why: "--amount '' would record a paid order of 0.00.",
  },
  {
    name: "money-rounded",
    file: "src/ground/amounts/decimal.ts",
    find: "if (fraction.length > decimals) {",
    replace: "if (false) {",
    tests: [{ file: AMOUNTS, filter: "money" }],
    why: "4.999 would be taken for 49.99 dollars.",
  },
  {
    name: "february-30",
    file: "src/ground/amounts/dates.ts",
    find: "return isDate && ms >= DAY_MS",
    replace: "return ms >= DAY_MS",
    tests: [{ file: AMOUNTS, filter: "dates" }],
    why: "A report would begin on another day than was asked for.",
  },
];
