import { checkChatStream, checkMessagesStream } from "../wire/dialects/legal_streams.ts";
import type { Answer, Asked } from "./exchange.ts";

/** What became of a request, for the table; throws where it is not as it should be. */
export function checkAnswer(asked: Asked, answer: Answer): string {
  const { status, headers, text } = answer;
  if (!asked.statuses.includes(status)) {
    throw new Error(`status ${status}, not ${asked.statuses.join(" or ")}: ${text.slice(0, 300)}`);
  }
  if (headers.get("x-request-id") === null) throw new Error(`${status} without x-request-id`);
  if (status !== 200) {
    checkError(asked, answer);
    return String(status);
  }
  if (headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    checkWhole(asked, text);
    return "200";
  }
  const { blocks, stopReason, failed } = asked.dialect === "chat"
    ? checkChatStream(text)
    : checkMessagesStream(text);
  if (failed && asked.mayBreak !== true) {
    throw new Error(`a stream broke off that nothing had disturbed: …${text.slice(-300)}`);
  }
  const said = blocks.filter(({ type }) => type === "text").map((one) => one.text).join("");
  checkText(asked, said, !failed && ["stop", "end_turn"].includes(stopReason ?? ""));
  return failed ? "200 cut" : "200";
}

function checkError({ dialect }: Asked, { status, headers, text }: Answer): void {
  const body = JSON.parse(text);
  const { error } = body;
  const told = typeof error?.message === "string" && error.message !== "" &&
    typeof error.type === "string";
  const shaped = dialect === "chat"
    ? told && typeof error.code === "string" && "param" in error
    : told && body.type === "error" && typeof body.request_id === "string";
  if (!shaped) {
    throw new Error(`${status} with no error of the ${dialect} dialect: ${text.slice(0, 300)}`);
  }
  if ((status === 429 || status === 503) && !(Number(headers.get("retry-after")) > 0)) {
    throw new Error(`${status} without retry-after`);
  }
  if (status < 429 && headers.get("x-should-retry") !== "false") {
    throw new Error(`${status} without x-should-retry: false`);
  }
}

function checkWhole(asked: Asked, text: string): void {
  const body = JSON.parse(text);
  if (typeof body.input_tokens === "number") return;
  if (asked.dialect === "chat") {
    const [choice] = body.choices;
    if (body.object !== "chat.completion") throw new Error(`object ${body.object}`);
    return checkText(asked, choice.message.content ?? "", choice.finish_reason === "stop");
  }
  if (body.type !== "message") throw new Error(`type ${body.type}`);
  const said = body.content.map((block: { text?: string }) => block.text ?? "").join("");
  checkText(asked, said, body.stop_reason === "end_turn");
}

/** An answer is what the upstream said to this request, to no other one. */
function checkText({ text }: Asked, said: string, complete: boolean): void {
  if (text === undefined || (complete ? said === text : text.startsWith(said))) return;
  throw new Error(
    `not the answer to this request: ${JSON.stringify(said.slice(0, 100))}… (${said.length} ` +
      `characters), not ${JSON.stringify(text.slice(0, 100))}… (${text.length})`,
  );
}
