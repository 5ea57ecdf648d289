import {
  type Outcome,
  outcomeOf,
  type RequestRecord,
  shortReasonOf,
} from "../../money/usage/mod.ts";
import { Badge, type Column, Time } from "./components.tsx";
import { duration, number, share } from "./format.ts";

const TONES: Readonly<Record<Outcome, "good" | "bad" | "warn" | "calm">> = {
  "complete": "good",
  "rejected": "warn",
  "upstream failed": "bad",
  "gateway failed": "bad",
  "client disconnected": "calm",
  "failed": "bad",
};

/** How a request ended, as a word and a colour. */
export function OutcomeBadge({ record }: { record: RequestRecord }) {
  const outcome = outcomeOf(record);
  return <Badge tone={TONES[outcome]}>{outcome}</Badge>;
}

/** Says why a request failed, beside its outcome: without what that says already. */
function reasonBeside(record: RequestRecord): string | undefined {
  const outcome = outcomeOf(record);
  const reason = shortReasonOf(record);
  if (reason === outcome) return undefined;
  return outcome === "upstream failed" ? reason?.replace(/^upstream unavailable: /, "") : reason;
}

/** Shorter times say nothing about the speed of a stream: it came all at once. */
const MIN_STREAM_MS = 100;

/**
 * Computes output tokens per second: of a stream from its first output on, else of the whole request.
 *
 * @returns `undefined` without output.
 */
export function tokensPerSecond(
  { outputTokens, streamed, firstTokenMs, durationMs }: Pick<
    RequestRecord,
    "outputTokens" | "streamed" | "firstTokenMs" | "durationMs"
  >,
): number | undefined {
  const streamMs = streamed ? durationMs - (firstTokenMs ?? 0) : 0;
  const ms = streamMs >= MIN_STREAM_MS ? streamMs : durationMs;
  return outputTokens === 0 || ms <= 0 ? undefined : outputTokens / ms * 1_000;
}

/** Formats a speed: `85`, `3.2`. */
export function speed(perSecond: number | undefined): string {
  if (perSecond === undefined) return "–";
  return perSecond < 10 ? perSecond.toFixed(1) : number(Math.round(perSecond));
}

/** Columns of a table of requests. @param names Of keys, by ID. */
export function requestColumns(
  names: ReadonlyMap<string, string>,
): readonly Column<RequestRecord>[] {
  return [
    {
      name: "time",
      cell: ({ requestId, startedAtMs }) => (
        <a href={`/console/requests/${requestId}`}>
          <Time ms={startedAtMs} />
        </a>
      ),
    },
    { name: "model", bare: true, cell: ({ route }) => route },
    { name: "key", cell: ({ keyId }) => names.get(keyId) ?? keyId },
    {
      name: "status",
      bare: true,
      cell: (record) => {
        const reason = reasonBeside(record);
        return (
          <>
            <OutcomeBadge record={record} />
            {reason === undefined ? "" : <small class="reason">{reason}</small>}
          </>
        );
      },
    },
    { name: "duration", numeric: true, cell: ({ durationMs }) => duration(durationMs) },
    { name: "input", numeric: true, cell: ({ inputTokens }) => number(inputTokens) },
    {
      name: "cached",
      numeric: true,
      cell: ({ inputTokens, cachedTokens }) =>
        inputTokens === 0 ? "–" : share(cachedTokens, inputTokens),
    },
    { name: "output", numeric: true, cell: ({ outputTokens }) => number(outputTokens) },
    { name: "tokens/s", numeric: true, cell: (record) => speed(tokensPerSecond(record)) },
    { name: "credits", role: "figure", cell: ({ chargedCredits }) => number(chargedCredits) },
  ];
}

/** ID of a row of requests. */
export function rowIdOf({ requestId }: RequestRecord): string {
  return requestId;
}
