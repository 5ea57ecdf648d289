import { isObject, type JsonObject, objects, text } from "../json.ts";

const ENCODER = new TextEncoder();

/** Probabilities of a candidate's tokens, as OpenAI's dialects write them; none where there are none. */
export function probabilitiesOf({ logprobsResult: result }: JsonObject): JsonObject[] {
  if (!isObject(result)) return [];
  const tops = objects(result.topCandidates);
  return objects(result.chosenCandidates).map((chosen, at) => ({
    ...tokenOf(chosen),
    top_logprobs: objects(tops[at]?.candidates).map(tokenOf),
  }));
}

/** A number that is zero is left out: a token that was certain. */
function tokenOf({ token, logProbability }: JsonObject): JsonObject {
  const said = text(token) ?? "";
  const logprob = typeof logProbability === "number" ? logProbability : 0;
  return { token: said, logprob, bytes: [...ENCODER.encode(said)] };
}
