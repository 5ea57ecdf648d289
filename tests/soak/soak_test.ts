import { assertEquals, assertThrows } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";
import { chunk, sse } from "../fake/upstream.ts";
import { checkAnswer } from "./check.ts";
import type { Asked } from "./exchange.ts";
import { faultsInLog } from "./gateway.ts";
import { Failures } from "./tally.ts";

const ASKED: Asked = {
  dialect: "chat",
  path: "/v1/chat/completions",
  key: "",
  body: "",
  statuses: [200, 400, 503],
  text: "t1.0 t1.1 ",
};
const error = { message: "No.", type: "api_error", code: "upstream_unavailable", param: null };
const answer = (status: number, text: string, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers({ "x-request-id": "req_1", ...headers }),
  text,
});
const stream = (...datas: string[]) =>
  answer(200, sse(...datas), { "content-type": "text/event-stream" });
const words = [chunk({ role: "assistant", content: "t1.0 " }), chunk({ content: "t1.1 " })];

Deno.test("the soak lets pass what is right", () => {
  assertEquals(checkAnswer(ASKED, stream(...words, chunk({}, "stop"), "[DONE]")), "200");
  const cut = stream(words[0]!, JSON.stringify({ error }));
  assertEquals(checkAnswer({ ...ASKED, mayBreak: true }, cut), "200 cut");
  const refused = answer(503, JSON.stringify({ error }), { "retry-after": "1" });
  assertEquals(checkAnswer(ASKED, refused), "503");
});

const WRONG = {
  "a fault of ours": [answer(500, JSON.stringify({ error })), "status 500"],
  "an error that says nothing": [answer(503, "{}", { "retry-after": "1" }), "no error of the chat"],
  "no retry-after": [answer(503, JSON.stringify({ error })), "without retry-after"],
  "a repeat that is not ruled out": [answer(400, JSON.stringify({ error })), "x-should-retry"],
  "a stream without its end": [stream(...words), "[DONE]"],
  "a stream that breaks off with nothing wrong": [
    stream(words[0]!, JSON.stringify({ error })),
    "nothing had disturbed",
  ],
  "somebody else's answer": [
    stream(chunk({ role: "assistant", content: "t2.0 " }), chunk({}, "stop"), "[DONE]"),
    "not the answer to this request",
  ],
  "half an answer that says it is whole": [
    stream(words[0]!, chunk({}, "stop"), "[DONE]"),
    "not the answer to this request",
  ],
} as const;

for (const [name, [wrong, says]] of Object.entries(WRONG)) {
  Deno.test(`the soak fails at ${name}`, () => {
    assertThrows(() => checkAnswer(ASKED, wrong), Error, says);
  });
}

Deno.test("the soak finds in a log what is our fault, a stack being one", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/log`;
  const line = (level: string, message: string) =>
    JSON.stringify({ time: "2026-01-01T00:00:00.000Z", level, message });
  const stack = "error: Uncaught (in promise) AbortError: gone\n  at {\n  }\n  at one\n";
  await Deno.writeTextFile(
    file,
    `${line("info", "request")}\n${line("error", "request failed")}\n${
      line("warn", "unhandled rejection")
    }\n${stack}${line("info", "stopped")}\n`,
  );
  const failures = new Failures(() => {});
  for (const fault of (await faultsInLog(file)).keys()) failures.add(fault);
  assertEquals(failures.size, 3, failures.summary());
});
