import {
  firstCount,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  reportedError,
  text,
  upstreamFault,
  withCounts,
} from "../dialects/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { decodeVector, type Vector } from "./vectors.ts";

/** An upstream's reply that is whole. */
export interface EmbeddingsReply {
  /** The vectors in the order of the inputs, all of one length. */
  readonly items: readonly EmbeddedItem[];
  /** Fields beside the vectors, as the upstream sent them. */
  readonly others: JsonObject;
  /** The upstream's report; undefined if it has none. */
  readonly usage: ReportedUsage | undefined;
}

/** One vector, and the fields beside it. */
export interface EmbeddedItem {
  readonly vector: Vector;
  readonly others: JsonObject;
}

/** What an upstream reports. */
export interface ReportedUsage {
  readonly inputTokens: number;
  /** As it came. */
  readonly fields: JsonObject;
}

/** What the reply has to be. */
export interface ExpectedEmbeddings {
  readonly inputs: number;
  /** Length of the vectors that the request asked for. */
  readonly requestedDimensions: number | undefined;
  /** Length of the vectors that the settings promise where the request asks for none. */
  readonly promisedDimensions: number | undefined;
}

/**
 * Reads an upstream's reply. Vectors may be arrays of numbers or base64, whatever the request asked for.
 *
 * @param body The reply as JSON; arrays of numbers in it hold the index of what was taken out.
 * @param taken What was taken out.
 * @param expected What the reply has to be.
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or a reply that does not have exactly one
 *   vector for each input; `request_invalid` if the upstream ignored `dimensions`.
 */
export function readEmbeddings(
  body: unknown,
  taken: readonly Vector[],
  { inputs, requestedDimensions, promisedDimensions }: ExpectedEmbeddings,
): EmbeddingsReply {
  if (!isObject(body)) throw wrong("it is not a JSON object");
  const error = reportedError(body);
  if (error !== undefined) throw upstreamFault(error);
  const { data, usage, object: _, model: __, ...others } = body;
  if (!Array.isArray(data)) throw wrong("it has no embeddings");
  if (data.length !== inputs) {
    throw wrong(`it has ${data.length} embeddings instead of ${inputs}`);
  }
  const restored = (value: JsonValue | undefined) => withNumbers(value, taken);
  const read = ordered(data).map((item): EmbeddedItem => {
    const { embedding, object: _, index: __, ...others } = item;
    return { vector: vectorOf(embedding, taken), others: restored(others) as JsonObject };
  });
  const length = read[0]!.vector.length;
  if (read.some(({ vector }) => vector.length !== length)) {
    throw wrong("its embeddings differ in length");
  }
  if (requestedDimensions !== undefined && length !== requestedDimensions) {
    throw invalid(
      "dimensions",
      `dimensions is not supported by this model's upstream: it returned ${length} dimensions ` +
        `instead of ${requestedDimensions}. Leave it out, or use another model.`,
    );
  }
  if (requestedDimensions === undefined && (promisedDimensions ?? length) !== length) {
    throw wrong(`its embeddings have ${length} dimensions instead of ${promisedDimensions}`);
  }
  return { items: read, others: restored(others) as JsonObject, usage: usageOf(usage) };
}

function wrong(why: string): Refusal {
  return new Refusal("upstream_unavailable", `The upstream's response cannot be used: ${why}.`);
}

/** The items by their indexes, which must be complete; as they came if none has one. */
function ordered(data: readonly JsonValue[]): JsonObject[] {
  const isIndexed = data.some((item) => isObject(item) && (item.index ?? undefined) !== undefined);
  const byIndex = new Map<unknown, JsonObject>();
  for (const [at, item] of data.entries()) {
    if (!isObject(item)) throw wrong("one of its embeddings is not an object");
    byIndex.set(isIndexed ? item.index : at, item);
  }
  return data.map((_, index) => {
    const item = byIndex.get(index);
    if (item === undefined) throw wrong("the indexes of its embeddings are not complete");
    return item;
  });
}

function vectorOf(embedding: JsonValue | undefined, taken: readonly Vector[]): Vector {
  const base64 = text(embedding);
  const vector = base64 === undefined ? takenAt(embedding, taken) : decodeVector(base64);
  if (vector === undefined || vector.length === 0) {
    throw wrong("one of its embeddings is not a vector");
  }
  for (let at = 0; at < vector.length; at++) {
    // a number that no 32-bit float can hold is of no use in a vector
    if (!Number.isFinite(Math.fround(vector[at]!))) {
      throw wrong("one of its embeddings holds a number out of range");
    }
  }
  return vector;
}

/** What an array of the text stands for. */
function takenAt(value: JsonValue | undefined, taken: readonly Vector[]): Vector | undefined {
  const [index, ...more] = items(value);
  return typeof index === "number" && more.length === 0 ? taken[index] : undefined;
}

/** A value with its arrays of numbers put back. */
function withNumbers(
  value: JsonValue | undefined,
  taken: readonly Vector[],
): JsonValue | undefined {
  const own = takenAt(value, taken);
  if (own !== undefined) return [...own];
  if (Array.isArray(value)) return value.map((one) => withNumbers(one, taken)!);
  if (!isObject(value)) return value;
  const pairs = Object.entries(value).map(([key, one]) => [key, withNumbers(one, taken)]);
  return Object.fromEntries(pairs);
}

/** All input is what is charged; some upstreams report only the total. */
function usageOf(usage: JsonValue | undefined): ReportedUsage | undefined {
  if (!isObject(usage)) return undefined;
  const inputTokens = firstCount(usage.prompt_tokens, usage.total_tokens);
  return inputTokens === undefined ? undefined : { inputTokens, fields: withCounts(usage) };
}
