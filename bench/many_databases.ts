/**
 * What would a hundred thousand requests a second take?
 *
 * A calculation, not a measurement: from what one PostgreSQL was measured to need, it computes how many of them serve that rate, how evenly
 * accounts are spread over them by a stable hash, and what is moved when there is one more. The same each time. Its figures are in
 * docs/decisions/021-accounts-over-databases.md, which a test compares.
 *
 * `deno run bench/many_databases.ts`
 */

/** Requests a second of all. */
const RATE = 100_000;
/** Requests a second of a gateway with one serving thread: two thirds of what it can do on paper (bench/README.md). */
const GATEWAY_RATE = 4_000;
/** Processor cores of a database, and the part of them that is used at most. */
const CORES = 16;
const BUSY = 0.6;
const ACCOUNTS = 100_000;
const BUCKETS = 4_096;
/** How much fuller than the mean the fullest database may be before buckets are moved. */
const EVEN = 1.05;

/**
 * What a commit of settlements takes: how many there are in it, how long it takes with a synchronous standby, and the server's processor time for each
 * (PostgreSQL 15, `settle_set` as one function, two cores).
 */
const COMMITS = [
  { batch: 1, ms: 4.2, usEach: 1_800 },
  { batch: 8, ms: 6.4, usEach: 500 },
  { batch: 32, ms: 9.8, usEach: 223 },
  { batch: 128, ms: 24.8, usEach: 158 },
] as const;

/**
 * How long a commit of this many settlements takes, and the server's processor time for each: interpolated between the two nearest sizes that
 * were measured, linearly in the logarithms of size and time. More than 128 count as 128.
 */
function commitOf(batch: number): { ms: number; usEach: number } {
  const at = COMMITS.findIndex((one) => one.batch >= batch);
  const high = COMMITS[at < 0 ? COMMITS.length - 1 : Math.max(at, 1)]!;
  const low = COMMITS[COMMITS.indexOf(high) - 1]!;
  const part = Math.log(Math.min(batch, 128) / low.batch) / Math.log(high.batch / low.batch);
  const between = (one: number, other: number) => one * (other / one) ** part;
  return { ms: between(low.ms, high.ms), usEach: between(low.usEach, high.usEach) };
}

/** How many settlements are in a commit when a gateway sends them at this rate to a database: those that have come while the last one ran. */
function batchAt(perSecond: number): number {
  let batch = 1;
  for (let round = 0; round < 100; round++) {
    batch = Math.min(128, Math.max(1, perSecond * commitOf(batch).ms / 1_000));
  }
  return batch;
}

/** Mixes the bits of a whole number (the end of MurmurHash3). */
function mixed(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** The hash of an account. */
const hashOf = (account: number) => mixed(account + 0x9e3779b9);

/** Of each key the database with its highest score: one more takes what it wins, and nothing else moves. */
function rendezvous(key: number, databases: number): number {
  let [best, bestScore] = [0, -1];
  for (let database = 0; database < databases; database++) {
    const score = mixed(key ^ mixed(database + 1));
    if (score > bestScore) [best, bestScore] = [database, score];
  }
  return best;
}

/** Jump consistent hash (Lamping and Veach). */
function jump(hash: number, databases: number): number {
  let key = BigInt(hash);
  let [at, next] = [-1, 0];
  while (next < databases) {
    at = next;
    key = (key * 2_862_933_555_777_941_757n + 1n) & 0xffff_ffff_ffff_ffffn;
    next = Math.floor((at + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return at;
}

const bucketOf = (account: number) => hashOf(account) >>> 20;

/** Shares of all requests by account: the n-th busiest has 1/n^exponent of what the busiest has. */
function sharesOf(exponent: number): number[] {
  const weights = Array.from({ length: ACCOUNTS }, (_, index) => (index + 1) ** -exponent);
  const sum = weights.reduce((all, one) => all + one, 0);
  return weights.map((one) => one / sum);
}

/** Adds up shares by place. */
function loads(shares: readonly number[], places: number, placeOf: (index: number) => number) {
  const sums = new Array<number>(places).fill(0);
  shares.forEach((share, index) => sums[placeOf(index)]! += share);
  return sums;
}

/** The fullest of the mean. */
const skewOf = (sums: readonly number[]) => Math.max(...sums) * sums.length;

/** Moves buckets, one at a time, from the fullest to the emptiest database until that is as even as it is to be, or no bucket helps. */
function evened(
  weights: readonly number[],
  databases: number,
): { skew: number; moved: number } {
  const map = weights.map((_, bucket) => rendezvous(bucket, databases));
  const before = [...map];
  const sums = loads(weights, databases, (bucket) => map[bucket]!);
  for (;;) {
    const [full, empty] = [Math.max(...sums), Math.min(...sums)];
    if (full * databases <= EVEN) break;
    const [from, to] = [sums.indexOf(full), sums.indexOf(empty)];
    const [best] = weights.map((weight, bucket) => ({ weight, bucket }))
      .filter(({ weight, bucket }) => map[bucket] === from && weight < full - empty)
      .toSorted((a, b) => b.weight - a.weight);
    if (best === undefined) break;
    map[best.bucket] = to;
    sums[from]! -= best.weight;
    sums[to]! += best.weight;
  }
  return { skew: skewOf(sums), moved: map.filter((to, bucket) => to !== before[bucket]).length };
}

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
const whole = (value: number) => Math.round(value).toLocaleString("en-US");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, at) =>
    Math.max(cell.length, ...rows.map((row) => row[at]!.length))
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`;
  return [
    line(head),
    `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`,
    ...rows.map(line),
  ]
    .join("\n");
}

function work(): string {
  const rows = [1, 2, 4, 8, 16].map((databases) => {
    const gateways = RATE / GATEWAY_RATE;
    const cells = [batchAt(GATEWAY_RATE), batchAt(RATE / gateways / databases)].map((batch) => {
      const { ms, usEach } = commitOf(batch);
      const cores = RATE / databases * usEach / 1_000_000;
      return { batch, ms, usEach, cores };
    });
    return [
      `${databases}`,
      ...cells.flatMap(({ batch, usEach, cores }) => [
        batch.toFixed(1),
        `${whole(usEach)} µs`,
        `${cores.toFixed(1)}${cores <= CORES * BUSY ? "" : " (too much)"}`,
      ]),
    ];
  });
  return table([
    "databases",
    "a gateway at one: batch",
    "each",
    "cores of a database",
    "at all of them: batch",
    "each",
    "cores of a database",
  ], rows);
}

function ceiling(): string {
  return table(
    ["settlements of an account in a commit", "a second"],
    COMMITS.map(({ batch, ms }) => [`${batch}`, whole(batch / ms * 1_000)]),
  );
}

function skew(): string {
  const rows = [0.8, 1, 1.2].flatMap((exponent) => {
    const shares = sharesOf(exponent);
    const weights = loads(shares, BUCKETS, bucketOf);
    return [4, 8, 16, 32].map((databases) => {
      const byHash = skewOf(loads(shares, databases, (one) => rendezvous(hashOf(one), databases)));
      const { skew, moved } = evened(weights, databases);
      return [
        `1/n^${exponent}`,
        percent(shares[0]!),
        `${databases}`,
        byHash.toFixed(2),
        skew.toFixed(2),
        `${moved} of ${whole(BUCKETS)}`,
      ];
    });
  });
  return table(
    [
      "n-th busiest",
      "the busiest",
      "databases",
      "fullest, by hash",
      "with buckets moved",
      "buckets moved",
    ],
    rows,
  );
}

function growth(): string {
  const all = Array.from({ length: ACCOUNTS }, (_, account) => hashOf(account));
  const ways: [string, (hash: number, databases: number) => number][] = [
    ["remainder", (hash, databases) => hash % databases],
    ["jump hash", jump],
    ["rendezvous", rendezvous],
    ["rendezvous of buckets", (hash, databases) => rendezvous(hash >>> 20, databases)],
  ];
  const rows = ways.map(([name, placeOf]) => [
    name,
    ...[[4, 5], [8, 9], [8, 16]].map(([from, to]) =>
      percent(all.filter((hash) => placeOf(hash, from!) !== placeOf(hash, to!)).length / ACCOUNTS)
    ),
  ]);
  rows.push(["the least possible", ...[1 / 5, 1 / 9, 1 / 2].map(percent)]);
  return table(["accounts that move", "4 to 5", "8 to 9", "8 to 16"], rows);
}

/** All figures, as tables by name. */
export function figures(): Record<string, string> {
  return { work: work(), ceiling: ceiling(), skew: skew(), growth: growth() };
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(figures())) {
    await Deno.stdout.write(new TextEncoder().encode(`${name}\n\n${text}\n\n`));
  }
}
