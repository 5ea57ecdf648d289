import type { Mutation } from "../mutation.ts";

const FILES = "src/ground/files/replace_file.ts";
const WRITTEN = "tests/doors/cli/written_files_test.ts";

/** What commands write, read and ask. */
export const COMMANDS: readonly Mutation[] = [
  {
    name: "writes-over-anything",
    file: FILES,
    find: "if (found === undefined || found.isFile) return found;",
    replace: "if (found !== null) return found;",
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
];
