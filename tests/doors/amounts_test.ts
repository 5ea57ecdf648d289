import fc from "fast-check";
import { assert, assertEquals } from "../assert.ts";
import { ownersClient } from "../fake/admin_client.ts";
import { keptOpen } from "../fake/kept_open.ts";
import { Random, testSeed } from "../fake/random.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { sluice } from "../fake/shell.ts";
import { signedIn } from "../fake/visitor.ts";
import { sampled, sized } from "../tier.ts";
import { dateIn, durationIn, instantIn, wholeIn } from "../../src/ground/amounts/mod.ts";
import { decimalsOf, loadConfig, moneyIn, moneyText } from "../../src/settings/config/mod.ts";

/** Texts that people and programs write for numbers, most of which are none. */
const TEXTS = [
  ..."0 1 5 007 500 1000000000000 1000000000001 9007199254740993 99999999999999999999".split(" "),
  ..."0x10 0b1 0o7 1e2 1e-2 -1 -0 +5 4,99 4.99 4. .5 1_000 ٤ ５ Infinity NaN null true 5n".split(
    " ",
  ),
  ..."1m 12h 30d 8w 0d 36500d 36501d 99999999d -1d 1.5d 1M 30days d 1h30m P1D".split(" "),
  "",
  " ",
  " 5",
  "5 ",
  "5\n",
  "1 000",
  "5\u0000",
  "1'000",
  "１０",
];

/** What goes through doors: in the gate a third of them, others each run. */
const DRAWN = sampled(TEXTS, new Random(testSeed()), 3);

/** A text as JSON has it: digits as a number, which has no zeros before it, and all else as text. */
const jsonOf = (text: string) =>
  /^-?[0-9]+(\.[0-9]+)?$/.test(text)
    ? text.replace(/^(-?)0+(?=[0-9])/, "$1")
    : JSON.stringify(text);

/** What a door made of a text: its words from `must be` on, or that it was taken. */
type Verdict = string;
const verdictOf = (words: string): Verdict =>
  /must be .*/.exec(words)?.[0].replace(/\.?(<.*)?$/s, "") ?? "taken";

/** The same amount through every door. */
interface Doors {
  readonly command: (text: string) => readonly string[];
  readonly form: (text: string) => readonly [path: string, fields: Record<string, string>];
  readonly api: (json: string) => readonly [method: string, path: string, body: string];
  /** A settings file with the amount, if settings have one. */
  readonly settings?: (json: string) => string;
}

/** Sends a text through every door. Form fields and settings may be left empty, which is not a fault of the text. */
async function throughAll(gateway: TestGateway, doors: Doors, texts: readonly string[]) {
  const { directory } = gateway;
  const browser = await signedIn(gateway, "owner@localhost");
  const api = await ownersClient(gateway);
  await using kept = keptOpen();
  const found = [];
  for (const text of texts) {
    const { err } = await sluice(doors.command(text), { directory, openParts: kept.openParts });
    const [path, fields] = doors.form(text);
    const posted = await browser.post(path, fields, { from: "/console/keys" });
    const page = posted.status === 303 ? "" : await posted.text();
    const [method, address, body] = doors.api(jsonOf(text));
    const { text: reply } = await api(method, address, { body });
    const spoken = {
      command: verdictOf(err),
      form: text === "" ? undefined : verdictOf(unescaped(page)),
      api: verdictOf(JSON.parse(reply).error?.message ?? ""),
      settings: doors.settings && await settingsVerdict(doors.settings(jsonOf(text))),
    };
    found.push({ text, spoken });
  }
  return found;
}

function unescaped(html: string): string {
  return html.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

async function settingsVerdict(json: string): Promise<Verdict> {
  const path = await Deno.makeTempFile({ suffix: ".jsonc" });
  try {
    await Deno.writeTextFile(path, json);
    await loadConfig({ env: {}, directory: "/", file: path });
    return "taken";
  } catch (error) {
    return verdictOf(String(error));
  } finally {
    await Deno.remove(path);
  }
}

/** All doors say the same, and what the reader says. */
function assertSame(
  { text, spoken }: { readonly text: string; readonly spoken: object },
  read: (text: string) => unknown,
): void {
  let own = "taken";
  try {
    read(text);
  } catch (error) {
    own = verdictOf(String(error).replace(/^\w+: /, ""));
  }
  for (const [door, said] of Object.entries(spoken)) {
    // numbers of JSON have lost digits, and zeros at their end
    const shown = (words: string) =>
      /^-?[0-9.]+$/.test(text) ? words.replace(/got [^,]+,/, "got,") : words;
    if (said !== undefined) {
      assertEquals(shown(said), shown(own), `${door} of ${JSON.stringify(text)}`);
    }
  }
}

Deno.test("credits: the same text, the same verdict and words in commands, forms, API and settings", async () => {
  await using gateway = await startGateway();
  const account = gateway.gateway.owner;
  const form = `/console/operator/accounts/${account.id}/grant`;
  let at = 0;
  const found = await throughAll(gateway, {
    command: (text) => ["credits", "grant", "--account", account.email, `--credits=${text}`],
    form: (text) => [form, { form: `f${++at}`, credits: text, days: "" }],
    api: (json) => ["POST", "/credits/grants", `{"account":"${account.id}","credits":${json}}`],
    settings: (json) =>
      `{"packages":[{"id":"a","name":"A","credits":${json},"priceUsd":1,"validDays":1}]}`,
  }, DRAWN);
  for (const one of found) {
    // a package may have no credits
    const spoken = {
      ...one.spoken,
      settings: one.spoken.settings?.replace("from 0 to", "from 1 to"),
    };
    assertSame(
      /^-?0$/.test(one.text)
        ? { ...one, spoken: { ...spoken, settings: undefined } }
        : { ...one, spoken },
      (text) => wholeIn(text, { min: 1, max: 1e12, unit: "credits" }),
    );
  }
  const taken = found.filter(({ spoken }) => spoken.command === "taken").map(({ text }) => text);
  const whole = ["1", "5", "007", "500", "1000000000000"];
  assertEquals(taken.toSorted(), whole.filter((text) => DRAWN.includes(text)).toSorted());
  const api = await ownersClient(gateway);
  for (const credits of ['"5"', "1e-2", "null", "true", "[5]", "{}", "1e400"]) {
    const { status, text } = await api("POST", "/credits/grants", {
      body: `{"account":"${account.id}","credits":${credits}}`,
    });
    assertEquals(
      [status, text.includes("credits: must be a whole number of credits")],
      [400, true],
      text,
    );
  }
});

Deno.test("days: the same text, the same verdict and words in forms, API and settings; durations in commands", async () => {
  await using gateway = await startGateway();
  let at = 0;
  const rule = { min: 1, max: 36_500, unit: "days" };
  const found = await throughAll(gateway, {
    command: (text) => ["codes", "create", "--credits", "1", `--valid=${text}`],
    form: (text) => ["/console/operator/codes", {
      id: `code_${String(++at).padStart(16, "0")}`,
      credits: "1",
      package: "",
      valid: text,
      expires: "",
    }],
    api: (json) => ["POST", "/codes", `{"credits":1,"valid_days":${json}}`],
    settings: (json) =>
      `{"packages":[{"id":"a","name":"A","credits":1,"priceUsd":1,"validDays":${json}}]}`,
  }, DRAWN);
  for (const { text, spoken: { command, ...spoken } } of found) {
    assertSame({ text, spoken }, (text) => wholeIn(text, rule));
    assertSame({ text, spoken: { command } }, durationIn);
  }
});

Deno.test("money: no text is taken for another amount, and each fault says the limits", async () => {
  await using gateway = await startGateway();
  const grant = [
    "credits",
    "grant",
    "--account",
    "owner@localhost",
    "--package",
    "starter",
    "--paid",
  ];
  const { directory } = gateway;
  await using kept = keptOpen();
  for (const text of [...DRAWN, "4.990", "4.999", "999999.99", "1000000.00"]) {
    const args = [...grant, `--amount=${text}`, "--reference", `r ${text.trim()}`];
    const { code, err } = await sluice(args, { directory, openParts: kept.openParts });
    const own = (() => {
      try {
        return moneyIn(text, "usd") >= 0 ? "taken" : "";
      } catch (error) {
        return verdictOf(String(error));
      }
    })();
    assertEquals([verdictOf(err), code], [own, own === "taken" ? 0 : 2], JSON.stringify(text));
    if (own !== "taken") assert(err.includes("an amount in USD from 0.00 to 999999.99"), err);
  }
});

/** Texts near to numbers: digits with something in or around them. */
const nearNumbers = fc.oneof(
  fc.stringMatching(/^[0-9]{1,20}$/),
  fc.stringMatching(/^[0-9]{1,12}\.[0-9]{0,4}$/),
  fc.stringMatching(/^[-+ ]?[0-9]{1,3}[eExXoO_,.' ]?[0-9]{0,3} ?$/),
  fc.constantFrom(...TEXTS),
  fc.string(),
);

Deno.test("money: digits are read exactly in every currency, or refused", () => {
  const currencies = fc.constantFrom("usd", "eur", "jpy", "kwd", "isk");
  fc.assert(
    fc.property(nearNumbers, currencies, (text, currency) => {
      const decimals = decimalsOf(currency)!;
      const form = /^(\d+)(?:\.(\d+))?$/.exec(text.replace(/[^ -~]/g, "?"));
      const [, whole = "", fraction = ""] = form ?? [];
      const minor = BigInt(`${whole}${fraction.padEnd(decimals, "0")}` || "0");
      const isRight = form !== null && fraction.length <= decimals && minor <= 99_999_999n &&
        (decimals < 3 || minor % 10n === 0n);
      let read: number | string;
      try {
        read = moneyIn(text, currency);
      } catch (error) {
        read = String(error);
      }
      if (!isRight) {
        return assert(typeof read === "string" && read.includes("must be an amount"), text);
      }
      assertEquals(read, Number(minor));
      const back = moneyText(Number(minor), currency).split(" ")[0]!;
      assertEquals(moneyIn(back, currency), read);
    }),
    { numRuns: sized(500, 100_000) },
  );
});

Deno.test("whole numbers and durations: digits are read exactly, or refused", () => {
  fc.assert(
    fc.property(nearNumbers, fc.nat(1_000), fc.nat(2 ** 31), (text, min, more) => {
      const rule = { min, max: min + more };
      const isRight = /^[0-9]+$/.test(text) && BigInt(text) >= min && BigInt(text) <= rule.max;
      let read: number | undefined;
      try {
        read = wholeIn(text, rule);
      } catch {
        // refused
      }
      assertEquals(read, isRight ? Number(BigInt(text)) : undefined, text);
      for (const [unit, ms] of [["m", 60_000n], ["h", 3_600_000n], ["d", 86_400_000n]] as const) {
        const isOne = /^[0-9]+$/.test(text) && BigInt(text) > 0n &&
          BigInt(text) * ms <= 36_500n * 86_400_000n;
        let duration: number | undefined;
        try {
          duration = durationIn(`${text}${unit}`);
        } catch {
          // refused
        }
        assertEquals(duration, isOne ? Number(BigInt(text) * ms) : undefined, text);
      }
    }),
    { numRuns: sized(500, 100_000) },
  );
});

Deno.test("dates: the calendar's and no others, the same in commands and API", async () => {
  const fields = fc.tuple(fc.integer({ min: 1970, max: 2100 }), fc.nat(14), fc.nat(33));
  fc.assert(
    fc.property(fields, ([year, month, day]) => {
      const text = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
      const days = [0, 31, year % 4 === 0 && year % 100 !== 0 || year % 400 === 0 ? 29 : 28]
        .concat(31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month] ?? 0;
      const isDate = day >= 1 && day <= days && text !== "1970-01-01";
      assertEquals(dateIn(text) !== undefined, isDate, text);
      assertEquals(instantIn(`${text}T10:00:00Z`) !== undefined, isDate, text);
      if (isDate) assertEquals(new Date(dateIn(text)!).toISOString().slice(0, 10), text);
    }),
    { numRuns: sized(300, 20_000) },
  );
  await using gateway = await startGateway();
  await using kept = keptOpen();
  const api = await ownersClient(gateway);
  const browser = await signedIn(gateway, "owner@localhost");
  const texts = [
    ..."2026-02-30 2026-2-3 26-02-03 2026-02-03T10:00 2026-02-03T25:00Z 2026-13-01 +2026-01-01 2026"
      .split(" "),
    ..."2026-02-03 2026-02-03T10:00Z 2026-02-03T10:00:00+02:00 03.02.2026 1738540800 now".split(
      " ",
    ),
    "2026-02-03 ",
    "２026-02-03",
  ];
  for (const text of texts) {
    const run = async (...args: string[]) => {
      const options = { directory: gateway.directory, openParts: kept.openParts };
      return (await sluice([...args, `--since=${text}`], options)).code === 0;
    };
    const asked = await api("GET", `/usage?since=${encodeURIComponent(text)}`);
    const isTaken = dateIn(text) !== undefined || instantIn(text) !== undefined;
    assertEquals([await run("usage"), await run("log"), asked.status === 200], [
      isTaken,
      isTaken,
      isTaken,
    ], text);
    if (text !== text.trim()) continue; // pages trim their fields
    for (const name of ["from", "to"]) {
      const page = await browser.get(`/console/requests?${name}=${encodeURIComponent(text)}`);
      assertEquals((await page.text()).includes("Invalid date"), !isTaken, `${name} ${text}`);
    }
  }
});

Deno.test("queries: the same text, the same verdict in the operator's API and the caller's", async () => {
  await using gateway = await startGateway();
  const api = await ownersClient(gateway);
  for (const text of DRAWN) {
    const query = encodeURIComponent(text);
    const own = (max: number, unit?: string): Verdict => {
      try {
        return wholeIn(text, { min: 1, max, ...(unit && { unit }) }) > 0 ? "taken" : "";
      } catch (error) {
        return verdictOf(String(error));
      }
    };
    const asked = async (path: string) =>
      verdictOf((await api("GET", `${path}=${query}`)).json.error?.message ?? "");
    const reply = await fetch(`${gateway.url}/user/credits?days=${query}`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    const { error } = await reply.json();
    assertEquals(
      [await asked("/accounts?limit"), await asked("/usage?top"), verdictOf(error?.message ?? "")],
      [own(500, "items"), own(1_000, "groups"), own(366)],
      JSON.stringify(text),
    );
  }
});

Deno.test("refunds: what a command refuses, the form refuses in the same words", async () => {
  await using gateway = await startGateway();
  await using kept = keptOpen();
  const options = { directory: gateway.directory, openParts: kept.openParts };
  const sale = ["--package", "starter", "--paid", "--amount", "4.99"];
  await sluice(["credits", "grant", "--account", "owner@localhost", ...sale], options);
  const { data: [order] } = JSON.parse(
    (await sluice(["payments", "list", "--json"], options)).out,
  );
  const browser = await signedIn(gateway, "owner@localhost");
  for (const text of [...DRAWN, "0.00", "4.990", "1000000.00"].filter((one) => one !== "")) {
    let own = "";
    try {
      moneyIn(text, "usd", 1);
    } catch (error) {
      own = verdictOf(String(error));
    }
    if (own === "") continue; // it would be paid back
    const { err } = await sluice(["payments", "refund", order.id, `--amount=${text}`], options);
    const path = `/console/operator/orders/${order.id}/refund`;
    const posted = await browser.post(path, { form: "f", amount: text }, { from: "/console/keys" });
    const page = unescaped(await posted.text());
    assertEquals([verdictOf(err), verdictOf(page)], [own, own], JSON.stringify(text));
  }
});
