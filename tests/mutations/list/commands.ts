import type { Mutation } from "../mutation.ts";

const FILES = "src/ground/files/replace_file.ts";
const AMOUNTS = "tests/doors/amounts_test.ts";
const WHOLE = "src/ground/amounts/whole.ts";
const HOSTS = "tests/doors/cli/hosts_test.ts";
const SAID = "tests/doors/cli/said_and_asked_test.ts";
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
    name: "opens-what-was-closed",
    file: FILES,
    find: "await Deno.chmod(beside, mode & before.mode)",
    replace: "{}",
    tests: [{ file: WRITTEN, filter: "writers of one file" }],
    why: "A settings file that only its owner reads could be read by all once it is written again.",
  },
  {
    name: "half-a-backup",
    file: "src/doors/cli/backup.ts",
    find: "if (!outBytes(bytes)) throw",
    replace: "if (!outBytes(bytes) && bytes.length === 0) throw",
    tests: [{ file: WRITTEN, filter: "not read to its end" }],
    why: "A backup whose way broke off would be reported as done.",
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
    file: "src/settings/config/hosts.ts",
    find: "isName && bound !== undefined ?",
    replace: "false && bound !== undefined ?",
    tests: [{ file: HOSTS, filter: "a host is normalised" }],
    why: "The health check of a gateway that listens on a name would say that it does not run.",
  },
  {
    name: "command-of-a-name-with-a-dash",
    file: "src/doors/cli/format.ts",
    find: '...(args.some(isOption) ? ["--"] : []),',
    replace: "",
    tests: [{ file: SAID, filter: "works as pasted" }],
    why: "The printed command about a team called -x would be refused.",
  },
  {
    name: "command-of-a-name-with-a-quote",
    file: "src/doors/cli/format.ts",
    find: "i.test(text) ? text : shellWord(text);",
    replace: "i.test(text) ? text : `'${text}'`;",
    tests: [{ file: SAID, filter: "a shell makes of them" }],
    why: "A name would run commands of its own in the shell of an operator.",
  },
  {
    name: "promise-of-a-rotation",
    file: "src/people/accounts/keys.ts",
    find: "if (keepMs > 0 && (previousUntilMs ?? 0) > this.#now() && !endsEarlier) {",
    replace: "if (false) {",
    tests: [{ file: SAID, filter: "earlier promise" }],
    why: "Programs that still use a secret which was promised a day would stop working.",
  },
  {
    name: "database-of-a-mistyped-data",
    file: "src/doors/cli/settings.ts",
    find: "  if (isNew) confirmNew(context, options, file);\n",
    replace: "",
    tests: [{ file: SAID, filter: "--data" }],
    why: "A mistyped --data would make a database, and a key that no gateway knows.",
  },
  {
    name: "restarts-on-invalid-settings",
    file: "src/doors/cli/run.ts",
    find: "return error instanceof ConfigError && isServe(args) ? CONFIG_STATUS : 1;",
    replace: "return 1;",
    tests: [{ file: SAID, filter: "exit status of their own" }],
    why: "systemd would start a gateway with invalid settings again and again.",
  },
  {
    name: "quotes-of-an-environment-file",
    file: "src/settings/config/load.ts",
    find: "warnings: [...misspeltVariables(around.env), ...quotes, ",
    replace: "warnings: [...misspeltVariables(around.env), ",
    tests: [{ file: SAID, filter: "quotes" }],
    why:
      "A key with quotes around it would be rejected by the upstream, and nothing would say why.",
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
