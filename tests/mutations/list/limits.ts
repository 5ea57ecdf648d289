import type { Mutation } from "../mutation.ts";

const SHARE = "src/fair_share/fair_share.ts";
const SHARES = "tests/fair_share/fair_share_test.ts";
const BOUNDS = "src/json/json_bounds.ts";
const JSON_TEST = "tests/json/json_bounds_test.ts";
const BODY = "src/http/body.ts";
const BODY_TIME = "tests/http/body_time_test.ts";
const CONNECTIONS = "tests/flow/abuse_connections_test.ts";

/** Fair shares, and the bounds of what callers send. */
export const LIMITS: readonly Mutation[] = [
  {
    name: "share-without-bound-per-account",
    file: SHARE,
    find: `if ((this.#held.get(account) ?? 0) + more > this.#perAccount) return "account";`,
    replace: "",
    tests: [{ file: SHARES, filter: "cannot take the units of another" }],
    why: "One account could take all of a resource.",
  },
  {
    name: "share-without-turns",
    file: "src/fair_share/round_robin.ts",
    find: `      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue); // behind the others`,
    replace: "      if (queue.length === 0) this.#queues.delete(owner);",
    tests: [{ file: SHARES, filter: "RoundRobin" }],
    why: "Who asks most often would be served before all others.",
  },
  {
    name: "share-without-deadline",
    file: SHARE,
    find: "const dismiss = timers.after(waitMs, () => giveUp(this.#exhausted(account, units)));",
    replace: "const dismiss = () => {};",
    tests: [{ file: SHARES, filter: "ends at its deadline" }],
    why: "A request would wait for a resource forever.",
  },
  {
    name: "share-waits-for-those-who-left",
    file: SHARE,
    find: `signal?.addEventListener("abort", abort);`,
    replace: "",
    tests: [{ file: SHARES, filter: "ends at its deadline" }],
    why: "Callers who have left would keep their place in the queue.",
  },
  {
    name: "share-overtaken-by-small-requests",
    file: SHARE,
    find: "const overtakes = first || this.#waiting.size === 0;",
    replace: "const overtakes = true;",
    tests: [{ file: SHARES, filter: "is not overtaken" }],
    why: "A large request would wait for as long as small ones come.",
  },
  {
    name: "share-not-returned",
    file: SHARE,
    find: "this.#used -= returned;",
    replace: "",
    tests: [{ file: SHARES, filter: "end empty" }],
    why: "A pool would run dry.",
  },
  {
    name: "json-values-unbounded",
    file: BOUNDS,
    find: `case COMMA:
        if (++values > bounds.values) return "values";`,
    replace: "case COMMA:",
    tests: [{ file: JSON_TEST, filter: "walking" }],
    why: "A body of millions of values would end the process.",
  },
  {
    name: "json-first-values-unbounded",
    file: BOUNDS,
    find: `if (isEmpty(json, at)) break;
        if (++values > bounds.values) return "values";`,
    replace: "",
    tests: [{ file: JSON_TEST, filter: "walking" }],
    why: "The first value of each array would not count.",
  },
  {
    name: "json-depth-unbounded",
    file: BOUNDS,
    find: `if (++depth > bounds.depth) return "depth";`,
    replace: "depth++;",
    tests: [{ file: JSON_TEST, filter: "walking" }],
    why: "Nested arrays would overflow the stack.",
  },
  {
    name: "json-members-unbounded",
    file: BOUNDS,
    find: `if (++members[depth]! > bounds.members) return "members";`,
    replace: "members[depth] = members[depth]! + 1;",
    tests: [{ file: JSON_TEST, filter: "walking" }],
    why: "An object of a million keys would take seconds.",
  },
  {
    name: "json-texts-count",
    file: BOUNDS,
    find: "at = endOfText(json, at);",
    replace: "",
    tests: [{ file: JSON_TEST, filter: "inside of texts" }],
    why: "A prompt with many commas would be refused.",
  },
  {
    name: "small-bodies-unbounded",
    file: BODY,
    find: "if (excess !== undefined) throw beyond(excess, bounds);",
    replace: "",
    tests: [{
      file: "tests/flow/abuse_bodies_test.ts",
      filter: "the number of values is a setting",
    }],
    why: "The bounds of JSON would not be looked at.",
  },
  {
    name: "large-bodies-unbounded",
    file: BODY,
    find: `if ("excess" in found) throw beyond(found.excess, bounds);`,
    replace: `if ("excess" in found) return { text: textFrom(bytes) };`,
    tests: [{
      file: "tests/flow/abuse_bodies_test.ts",
      filter: "bodies of 8 MB cost nobody else anything",
    }],
    why: "A body of 8 MB could take gigabytes.",
  },
  {
    name: "validation-collects-all-faults",
    file: "src/dialects/first_fault.ts",
    find: "? inChecks(schema, value) ?? inElements(def.element, value)",
    replace: "? ofLibrary(schema, value)",
    tests: [{ file: "tests/dialects/first_fault_test.ts", filter: "behind the first bad one" }],
    why: "A fault would be collected for each of millions of bad elements.",
  },
  {
    name: "chunked-bodies-unbounded",
    file: BODY,
    find: "const maxBytes = Math.min(declared ?? Infinity, this.#limits.bodyBytes);",
    replace: "const maxBytes = declared ?? Infinity;",
    tests: [{ file: "tests/http/body_cap_test.ts", filter: "may have 1000 bytes" }],
    why: "A body in chunks could take all memory.",
  },
  {
    name: "bodies-may-drip",
    file: BODY,
    find: "if (value !== undefined && this.#sendingMs > bodyIdleMs && received < dueBytes) {",
    replace: "if (dueBytes < 0) {",
    tests: [{ file: CONNECTIONS, filter: "limits.bodyMinBytesPerSecond" }],
    why: "A body that comes a byte at a time would hold its place forever.",
  },
  {
    name: "bodies-may-take-for-ever",
    file: BODY,
    find: "if (this.#sendingMs > bodyMs) {",
    replace: "if (bodyMs < 0) {",
    tests: [{ file: BODY_TIME, filter: "in a given time" }],
    why: "A body just above the minimum rate would hold its place for hours.",
  },
  {
    name: "bodies-may-stall",
    file: BODY,
    find: "if (late) throw stalled(this.#limits);",
    replace: "if (late) return undefined;",
    tests: [{ file: BODY_TIME, filter: "without its end" }],
    why: "A body that stopped coming would be taken for whole.",
  },
  {
    name: "small-bodies-may-stall",
    file: BODY,
    find: "const arrived = limits.timers.after(limits.bodyIdleMs, () => reject(stalled(limits)));",
    replace: "const arrived = () => {};",
    tests: [{ file: CONNECTIONS, filter: "stops coming" }],
    why: "A small body that stopped coming would hold its place forever.",
  },
  {
    name: "unbilled-bytes-not-counted",
    file: "src/http/inference.ts",
    find: "this.#options.unbilledBytes.add(keyId, bytes);",
    replace: "",
    tests: [{ file: "tests/http/unbilled_bytes_test.ts", filter: "chat" }],
    why: "Rejected bodies could be sent without end and at no cost.",
  },
  {
    name: "counted-bytes-not-counted",
    file: "src/http/inference.ts",
    find: "      unbilledBytes.add(caller.keyId, body.bytes);\n",
    replace: "",
    tests: [{ file: "tests/http/unbilled_bytes_test.ts", filter: "count_tokens" }],
    why: "Bodies could be counted without end and at no cost.",
  },
  {
    name: "billed-bytes-counted",
    file: "src/http/inference.ts",
    find: "        body.detached.release();\n      }\n    } catch (error) {",
    replace: `        body.detached.release();
        this.#unbilledBytes.add(keyId, bytes);
      }
    } catch (error) {`,
    tests: [{ file: "tests/http/unbilled_bytes_test.ts", filter: "chat" }],
    why: "Who pays for large requests would be refused.",
  },
  {
    name: "unbilled-bytes-not-checked",
    file: "src/http/inference.ts",
    find:
      'check(this.#options.unbilledBytes, keyId, "bytes in rejected and count_tokens requests");',
    replace: "",
    tests: [{ file: "tests/http/unbilled_bytes_test.ts", filter: "chat" }],
    why: "Rejected bodies could be sent without end and at no cost.",
  },
  {
    name: "rate-limit-window-short",
    file: "src/rate_limits/rate_limit.ts",
    find: "lastMs > sinceMs && startMs <= nowMs",
    replace: "startMs > sinceMs && startMs <= nowMs",
    tests: [{ file: "tests/rate_limits/rate_limit_test.ts", filter: "no window" }],
    why: "More than the limit would fit into a window: units leave it before their time.",
  },
  {
    name: "wrong-passwords-not-counted-by-account",
    file: "src/console/attempts.ts",
    find: "      this.#account.waitMs(email),\n",
    replace: "",
    tests: [{ file: "tests/console/attempts_test.ts", filter: "from many addresses" }],
    why: "Passwords of one account could be guessed from many addresses without end.",
  },
  {
    name: "images-uncounted",
    file: "src/images/images.ts",
    find: "if (images.length <= maxImages) return;",
    replace: "if (maxImages > 0) return;",
    tests: [{ file: "tests/flow/image_share_test.ts", filter: "has a bound of images" }],
    why: "One request could have thousands of images fetched.",
  },
  {
    name: "images-without-shares",
    file: "src/images/images.ts",
    find: "using _slot = await this.#slots.take(account, 1, signal);",
    replace: "using _slot = await this.#slots.take(crypto.randomUUID(), 1, signal);",
    tests: [{ file: "tests/flow/image_share_test.ts", filter: "never starve" }],
    why: "One account's pictures would keep all others' waiting.",
  },
  {
    name: "idle-connections-kept",
    file: "src/http/connections.ts",
    find: "if (ms > (unread ? UNREAD_FACTOR * this.idleMs : idleMs)) idle.push(connection);",
    replace: "",
    tests: [{ file: CONNECTIONS, filter: "idle connections are closed" }],
    why: "A thousand idle connections would use up the descriptors.",
  },
  {
    name: "leaving-not-watched",
    file: "src/http/disconnect_watcher.ts",
    find: "if (from !== undefined) unwatch = connections.watch(from, left);",
    replace: "",
    tests: [{ file: "tests/flow/leaving_test.ts", filter: "20000 characters" }],
    why: "The upstream would work on for callers who have left (Deno 2.9).",
  },
];
