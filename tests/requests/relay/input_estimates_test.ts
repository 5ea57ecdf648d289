import { InputEstimates } from "../../../src/requests/relay/input_estimates.ts";
import { MAX_OVERCOUNT } from "../../../src/settings/catalog/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

const ROUTE = { id: "r", targets: [{ upstream: "u", model: "m" }] };
const of = (accountId: string) => ({ accountId, route: "r", upstream: "u" });

Deno.test("what an upstream reports above the count raises an account's next holds, up to four times", () => {
  const estimates = new InputEstimates();
  estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 1_500 });
  assertEquals(estimates.factor("one", ROUTE), 1.5);
  assertEquals(estimates.factor("other", ROUTE), 1);
  estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 1_000_000 });
  assertEquals(estimates.factor("one", ROUTE), 4);
  for (let at = 0; at < 100; at++) {
    estimates.learn(of("one"), { countedTokens: 1_000, reportedTokens: 900 });
  }
  assertEquals(estimates.factor("one", ROUTE), 1, "a hold is never lowered");
  assert(estimates.ratio("one", ROUTE) < 1);
});

Deno.test("short inputs say nothing of how an upstream counts", () => {
  const estimates = new InputEstimates();
  estimates.learn(of("one"), { countedTokens: 499, reportedTokens: 1_900 });
  assertEquals(estimates.factor("one", ROUTE), 1);
});

Deno.test("a smaller report counts little by little, an exact one too, and none for less than a tokenizer explains", () => {
  const estimates = new InputEstimates();
  const learned = (reportedTokens: number) => {
    estimates.learn(of("one"), { countedTokens: 500, reportedTokens });
    return Math.round(1_000 * estimates.ratio("one", ROUTE)) / 1_000;
  };
  assertEquals(learned(500), 1);
  assertEquals([learned(1_000), learned(500), learned(600)], [2, 1.9, 1.83]);
  assertEquals([learned(915), learned(1_000)], [1.83, 2]);
  const other = new InputEstimates();
  other.learn(of("one"), { countedTokens: 1_000, reportedTokens: 0 });
  assertEquals(other.ratio("one", ROUTE), 1 + 0.1 * (1 / MAX_OVERCOUNT - 1));
});

Deno.test("of a route's targets, that counts which reports most; a route without any is taken as it is counted", () => {
  const estimates = new InputEstimates();
  for (const [upstream, reportedTokens] of [["u", 1_500], ["v", 3_000], ["w", 900]] as const) {
    estimates.learn({ ...of("one"), upstream }, { countedTokens: 1_000, reportedTokens });
  }
  const ratioOf = (...upstreams: string[]) =>
    estimates.ratio("one", {
      id: "r",
      targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
    });
  assertEquals([ratioOf("u", "v", "w"), ratioOf("u", "w"), ratioOf("w")], [3, 1.5, 0.99]);
  assertEquals([ratioOf("w", "unknown"), ratioOf()], [1, 1]);
});

Deno.test("ten thousand factors are kept, those that say something; what was learned first is forgotten first", () => {
  const estimates = new InputEstimates();
  const learn = (accountId: string, reportedTokens: number) =>
    estimates.learn(of(accountId), { countedTokens: 1_000, reportedTokens });
  learn("one", 1_500);
  learn("two", 1_500);
  for (let at = 0; at < 10_000; at++) learn(`exact ${at}`, 1_000);
  assertEquals(estimates.factor("one", ROUTE), 1.5);
  for (let at = 2; at < 10_000; at++) learn(`more ${at}`, 2_000);
  assertEquals([estimates.factor("one", ROUTE), estimates.factor("two", ROUTE)], [1.5, 1.5]);
  learn("last", 2_000);
  assertEquals([estimates.factor("one", ROUTE), estimates.factor("two", ROUTE)], [1, 1.5]);
});

Deno.test("other threads are told of a factor that has changed by more than a hundredth, and take it as it is", () => {
  const [one, other] = [new InputEstimates(), new InputEstimates()];
  const news: number[] = [];
  one.send = (told) => {
    news.push(told.factor);
    other.onNews(told);
  };
  const learn = (reportedTokens: number) =>
    one.learn(of("one"), { countedTokens: 1_000, reportedTokens });
  learn(1_009);
  assertEquals(news, []);
  learn(1_500);
  learn(1_450); // nearer by five thousandths
  assertEquals([news, other.factor("one", ROUTE)], [[1.5], 1.5]);
  learn(1_000);
  assertEquals([news.length, other.factor("one", ROUTE) < 1.46], [2, true]);
});
