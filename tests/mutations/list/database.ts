import type { Mutation } from "../mutation.ts";

const CONNECTIONS = "tests/ground/database/connections_test.ts";
const FILE = "src/ground/database/embedded_file.ts";
const IDENTITY = "src/ground/database/gateway_identity.ts";
const WHOSE = "tests/ground/database/whose_file_test.ts";
const FAULTS = "tests/file_faults/file_faults_test.ts";
const IDENTITIES = "tests/ground/database/gateway_identity_test.ts";

/** The file that the database is, what it is told from, and what is done when the disk fails. */
export const DATABASE: readonly Mutation[] = [
  {
    name: "reads-through-the-cipher",
    file: "src/ground/database/driver.ts",
    find: "new URLSearchParams({ vfs, ...parameters })",
    replace: "new URLSearchParams({ ...(vfs === undefined ? {} : {}), ...parameters })",
    tests: [{ file: FAULTS, filter: "no file is damaged" }],
    why: "Failed reads would be taken for pages, and be written back.",
  },
  {
    name: "connection-kept-after-io-error",
    file: FILE,
    find: "      if (!isTrusted(code)) this.#disconnect();",
    replace: "",
    tests: [{ file: FAULTS, filter: "no file is damaged" }],
    why: "A connection would go on with what it has in memory.",
  },
  {
    name: "file-followed-to-a-stranger",
    file: FILE,
    find: "if (idOf(connection) === this.#id) return true;",
    replace: "return true;",
    tests: [{ file: WHOSE, filter: "into its own file only" }],
    why: "A gateway would write into another's database.",
  },
  {
    name: "lock-not-looked-at",
    file: FILE,
    find: "for (const one of [...beside, path]) {",
    replace: "for (const one of beside.length < 0 ? beside : [path]) {",
    tests: [{ file: WHOSE, filter: "into its own file only" }],
    why: "A gateway would write into a directory that another has locked.",
  },
  {
    name: "reports-on-the-writing-thread",
    file: "src/ground/database/read_aside.ts",
    find: "() => work(reader));",
    replace: "() => work(this.#database));",
    tests: [{ file: "tests/ground/database/read_aside_test.ts", filter: "hold up no write" }],
    why: "Requests would wait for reports.",
  },
  {
    name: "reports-without-turns",
    file: "src/ground/fair_share/time_slices.ts",
    find: "if (least === undefined || owner.usedMs < least.usedMs) least = owner;",
    replace: "least ??= owner;",
    tests: [{ file: "tests/ground/fair_share/time_slices_test.ts", filter: "get the same time" }],
    why: "One account's reports would hold up everybody's.",
  },
  {
    name: "copied-identity",
    file: IDENTITY,
    find: "const isCopy = inode !== undefined && ino !== null && Number(inode) !== ino;",
    replace: "const isCopy = inode !== undefined && ino === null;",
    tests: [{ file: IDENTITIES, filter: "an identity of its own" }],
    why: "Two gateways at one server would use each other's loans.",
  },
  {
    name: "unknown-forgotten",
    file: "src/ground/database/group_writer.ts",
    find: "waiting.done.reject(isRepeated ? stillUnknown(error) : error);",
    replace: "waiting.done.reject(error);",
    tests: [{ file: "tests/ground/database/group_writer_test.ts", filter: "stays unknown" }],
    why: "A request would be rejected although its charge may be there.",
  },
  {
    name: "closed-connections-stay-open",
    file: "src/ground/database/embedded_worker.ts",
    find:
      'if (ask.type === "close") afterCollection(() => reply({ id, ok: true, rows }));\n    else reply',
    replace: "reply",
    tests: [{ file: CONNECTIONS, filter: "leaves no descriptor behind" }],
    why:
      "Each audit and backup would leave descriptors, locks and memory behind until the gateway is restarted.",
  },
  {
    name: "index-for-reading-kept",
    file: "src/ground/database/embedded_file.ts",
    find: "    checkIndexIsWritable(connection);\n",
    replace: "",
    tests: [{ file: CONNECTIONS, filter: "opened for reading only" }],
    why:
      "After one failed open(2) a connection that reads would leave none that writes, until the gateway is restarted.",
  },
];
