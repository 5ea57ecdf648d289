import {
  type InFlightRequest,
  InFlightRequests,
} from "../../../src/requests/relay/in_flight_requests.ts";
import { assertEquals } from "../../assert.ts";

const request = (
  at: number,
) => ({ requestId: `req_${at}`, startedAtMs: at } as Partial<InFlightRequest> as InFlightRequest);

Deno.test("stopping waits for what runs, cuts off what still does then, and at once what begins after that", async () => {
  const running = new InFlightRequests();
  const cut: string[] = [];
  const begin = (at: number) => running.begin(request(at), () => cut.push(`req_${at}`));
  assertEquals(await running.finish(60_000), { cutOff: 0 }, "nothing runs");
  const over = [begin(3), begin(1), begin(2)] as const;
  assertEquals(running.all.map(({ requestId }) => requestId), ["req_1", "req_2", "req_3"]);
  over[0]();
  over[0](); // twice is once
  assertEquals([running.count, running.ownCount, cut], [2, 2, []]);
  const finished = running.finish(1);
  const aborted = Promise.withResolvers<void>();
  running.cutOff.addEventListener("abort", () => aborted.resolve());
  await aborted.promise;
  await Promise.resolve();
  assertEquals(cut.toSorted(), ["req_1", "req_2"]);
  const late = begin(4);
  assertEquals(cut.at(-1), "req_4");
  let isFinished = false;
  void finished.then(() => isFinished = true);
  for (const end of [over[1], over[2]]) end();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals([isFinished, running.count], [false, 1]);
  late();
  assertEquals([await finished, running.count], [{ cutOff: 2 }, 0]);
});

Deno.test("requests are counted over all threads of a process", () => {
  const all = new Int32Array(new SharedArrayBuffer(8));
  const [one, other] = [0, 1].map((own) => new InFlightRequests({ all, own }));
  const over = [one!.begin(request(1), () => {}), other!.begin(request(2), () => {})];
  const counts = () => [one!.count, other!.count, one!.ownCount, other!.ownCount];
  assertEquals(counts(), [2, 2, 1, 1]);
  over[0]!();
  assertEquals(counts(), [1, 1, 0, 1]);
});
