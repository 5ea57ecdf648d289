import type { Random } from "../../fake/random.ts";
import { sleep } from "../../fake/temp.ts";
import type { Plan } from "./plan.ts";
import { countTokens, countWords } from "./words.ts";

/** What a client got for its request. */
export interface Taken {
  /** Undefined if it disconnected before the headers. */
  readonly requestId: string | undefined;
  readonly status: number;
  /** Output tokens that it got, by o200k. */
  readonly tokens: number;
  /** Whether it read to the end. */
  readonly isWhole: boolean;
  /** Whether it was told of a failure. */
  readonly isFailed: boolean;
  /** Whether the gateway may have ended it, for lack of credits or at its limit. */
  readonly isCutOff: boolean;
}

/** Sends a request, and reads and disconnects as its plan says. */
export async function takeResponse(
  { manner, stream, from }: Plan,
  random: Random,
  post: (signal: AbortSignal) => Promise<Response>,
): Promise<Taken> {
  const leaving = new AbortController();
  if (manner === "disconnects at once") setTimeout(() => leaving.abort(), random.integer(0, 4));
  const maxWords = random.integer(1, 60);
  let text = "";
  let requestId: string | undefined;
  let status = 0;
  const taken = (isWhole: boolean): Taken => ({
    requestId,
    status,
    tokens: countTokens(stream && from === "responses" ? deltasIn(text) : text),
    isWhole,
    isFailed: /"error":(?!null)|"type":"error"/.test(text),
    isCutOff: /reason":"(length|max_tokens|max_output_tokens)"/.test(text),
  });
  const isEnough = () =>
    manner === "disconnects"
      ? countWords(text) >= maxWords
      : manner === "disconnects at the finish" &&
        /"(finish|stop)_reason":"|response\.(completed|incomplete)"/.test(text);
  try {
    const response = await post(leaving.signal);
    status = response.status;
    requestId = response.headers.get("request-id") ?? undefined;
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    while (true) {
      if (manner === "reads slowly") await sleep(2);
      const { value, done } = await reader.read();
      if (done) return taken(true);
      text += decoder.decode(value, { stream: true });
      if (!stream || !isEnough()) continue;
      leaving.abort();
      await reader.cancel().catch(() => {});
      return taken(false);
    }
  } catch {
    return taken(false);
  }
}

/** The events of a responses stream that bring something new: those at the end repeat all of it. */
function deltasIn(text: string): string {
  return text.split("\n\n").filter((one) => /^event: \S+\.delta\n/.test(one)).join("\n");
}
