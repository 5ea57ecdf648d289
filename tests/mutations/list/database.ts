import type { Mutation } from "../mutation.ts";

const CONNECTIONS = "tests/ground/database/connections_test.ts";
const FILE = "src/ground/database/embedded_file.ts";
const IDENTITY = "src/ground/database/gateway_identity.ts";
const WHOSE = "tests/ground/database/whose_file_test.ts";
const FAULTS = "tests/file_faults/file_faults_test.ts";
const IDENTITIES = "tests/ground/database/gateway_identity_test.ts";

/** The file that the database is, what it is told from, and what is done when the disk fails. */ const OUTBOX_TEST =
  "tests/ground/database/outbox_test.ts";

export const DATABASE: readonly Mutation[] = [
  {
    name: "reads-through-the-cipher",
    file: "src/ground/database/driver.ts",
    find: "new URLSearchParams({ vfs, ...parameters })",
    replace: "new URLSearchParams({ ...(vfs === undefined ? {} : {}), ...parameters })",
    tests: [{ file: FAULTS, filter: "a failed read is noticed" }],
    why: "Failed reads would be taken for pages, and be written back.",
  },
  {
    name: "connection-kept-after-io-error",
    file: FILE,
    find: "      if (!isTrusted(code)) this.#disconnect();",
    replace: "",
    tests: [{ file: FAULTS, filter: "a failed read is noticed" }],
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
  {
    name: "outbox-frame-unchecked",
    file: "src/ground/database/outbox_file.ts",
    find: "    if (crc32(bytes.subarray(at + 8, end)) !== view.getUint32(at + 4, true)) break;\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "cut or spoilt" }],
    why: "A frame that was written in part would be taken for charges.",
  },
  {
    name: "outbox-frame-of-an-earlier-generation",
    file: "src/ground/database/outbox_file.ts",
    find: "    if (view.getBigUint64(at + 8, true) !== generation) break;\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "cut or spoilt" }],
    why: "What was settled long ago would be put to the database again and again.",
  },
  {
    name: "outbox-emptied-too-soon",
    file: "src/ground/database/outbox.ts",
    find: "      await this.#options.taken();\n      await file.clear();",
    replace: "      await file.clear();",
    tests: [{ file: OUTBOX_TEST, filter: "take turns" }],
    why: "A kill would lose charges that replies were given for.",
  },
  {
    name: "outbox-of-another-database",
    file: "src/ground/database/outbox.ts",
    find: "  if ((JSON.parse(heading) as Heading).database !== database) return undefined;\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "left alone" }],
    why: "A database would be charged with what another one's gateway sold.",
  },
  {
    name: "reads-before-what-was-passed-on",
    file: "src/ground/database/embedded_worker.ts",
    find:
      '  writeAllBehind(file, type === "one" || type === "all" || type === "flush" && !ask.durable);\n',
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "found by every read" }],
    why: "A report would lack what was charged a moment ago.",
  },
  {
    name: "doubtful-writes-not-repeated",
    file: "src/ground/database/writes_behind.ts",
    find: "    this.#takeBack(this.#unsynced);\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "whatever fails in between" }],
    why: "Charges would be lost with a connection that was given up.",
  },
  {
    name: "refused-item-takes-others-along",
    file: "src/ground/database/writes_behind.ts",
    find: " else this.#takeBack(set.flatMap(singly));\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "whatever fails in between" }],
    why: "One bad item would take the charges of all others along.",
  },
  {
    name: "kept-items-by-position",
    file: "src/ground/database/take_outboxes.ts",
    find: "(write.columns ?? []).map((column) => row[columns.indexOf(column)] ?? null)",
    replace: "row",
    tests: [{ file: OUTBOX_TEST, filter: "ended in the middle" }],
    why: "A program with other columns would mix up tokens and credits.",
  },
  {
    name: "uncovered-price-settled-behind",
    file: "src/money/ledger/settle.ts",
    find: "priceCredits <= lent.credits && ",
    replace: "",
    tests: [{ file: "tests/money/ledger/settle_test.ts", filter: "nothing else" }],
    why: "A reply would say a charge that the database may not be able to take.",
  },
  {
    name: "outboxes-not-taken-at-start",
    file: "src/ground/database/open.ts",
    find: 'if (outboxes !== "leave") await',
    replace: 'if (outboxes === "leave") await',
    tests: [{ file: "tests/money/ledger/settle_test.ts", filter: "killed" }],
    why: "What was answered a moment before a kill would never be charged.",
  },
  {
    name: "refused-item-only-logged",
    file: "src/ground/database/embedded.ts",
    find: '    this.#refused.note({ database: this.#id ?? "", ...refused });\n',
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "is named, and no other is lost" }],
    why: "An acknowledged charge would be nowhere but in the log.",
  },
  {
    name: "outbox-emptied-before-refused-is-kept",
    file: "src/ground/database/embedded.ts",
    find: "    if (durable) await this.#refused.keep(); // what it was kept in is given up next\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "cannot be kept elsewhere" }],
    why: "An acknowledged charge would be lost while the disk is full.",
  },
  {
    name: "refused-settlements-not-audited",
    file: "src/money/ledger/audit.ts",
    find: "  mismatches.push(...await checkRefused(database));\n",
    replace: "",
    tests: [{ file: "tests/money/ledger/settle_test.ts", filter: "in the audit until" }],
    why: "Nobody would learn of requests that were answered and not charged.",
  },
  {
    name: "outbox-of-a-running-gateway-removed",
    file: "src/ground/database/take_outboxes.ts",
    find: "if (isDead.has(path)) done.push(path);",
    replace: "done.push(path);",
    tests: [{ file: OUTBOX_TEST, filter: "nobody has locked" }],
    why: "A command beside a gateway that is killed a moment later would lose its charges.",
  },
  {
    name: "removed-outbox-written-on",
    file: "src/ground/database/outbox_file.ts",
    find:
      "    if ((await this.#file.stat()).nlink === 0) throw new Error(`${this.path} was removed`);\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "removed while" }],
    why: "Charges would be kept in a file that nobody can read again.",
  },
  {
    name: "dead-outboxes-not-swept",
    file: "src/assemble/gateway.ts",
    find: "  if (database instanceof EmbeddedDatabase) built.use(sweepOutboxes(database, log));\n",
    replace: "",
    tests: [{ file: "tests/flow/dead_outbox_test.ts" }],
    why:
      "The last charges of a gateway that was killed beside another would wait for the next start.",
  },
  {
    name: "writes-behind-mixed-up",
    file: "src/ground/database/writes_behind.ts",
    find: "    if (isMore && write !== first.write) break;\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "whatever fails in between" }],
    why: "Items would be put to another write's statements.",
  },
  {
    name: "lock-of-a-removed-file",
    file: "src/ground/files/lock_file.ts",
    find: "    isThere = (await file.stat()).nlink !== 0;\n",
    replace: "",
    tests: [{ file: "tests/ground/files/lock_file_test.ts" }],
    why:
      "An outbox that another process has just taken and removed would be written to, and what a killed writer left would stay.",
  },
  {
    name: "commands-fail-on-a-full-disk",
    file: "src/ground/database/take_outboxes.ts",
    find: "    if (!onlyDead) await taker.forget();\n",
    replace: "",
    tests: [{ file: OUTBOX_TEST, filter: "on a full disk" }],
    why: "Nobody could look at the database until there is room, beside a gateway that goes on.",
  },
];
