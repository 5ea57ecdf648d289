import { type JsonObject, type JsonValue, validate } from "../dialects/mod.ts";
import { invalid, type Refusal } from "../../ground/refusal.ts";
import { MAX_INPUTS } from "./endpoint.ts";
import { embeddingsOptions } from "./schema.ts";

/** What one vector is asked for: a text, or the number of its tokens. */
export type Input = string | { readonly tokens: number };

/** A valid request body, and what the gateway needs to know of it. */
export interface EmbeddingsRequest {
  /** The body as it came, unknown fields included. Never changed in place. */
  readonly body: JsonObject;
  readonly model: string;
  readonly inputs: readonly Input[];
  /** Whether `input` is an array of inputs, and not one input by itself. */
  readonly isList: boolean;
  readonly encoding: "float" | "base64";
  /** Length of the vectors; undefined for the model's own. */
  readonly dimensions: number | undefined;
  /** None: base64 in a body is text. */
  readonly images: readonly [];
}

/**
 * Validates a request body.
 *
 * @throws {Refusal} `request_invalid` naming the first field at fault.
 */
export function parseEmbeddings(body: unknown): EmbeddingsRequest {
  validate(embeddingsOptions, body);
  const { model, encoding_format: encoding, dimensions } = body;
  const own = body as JsonObject;
  const { inputs, isList } = readInputs(own.input);
  return {
    body: own,
    model,
    inputs,
    isList,
    encoding: encoding ?? "float",
    dimensions: dimensions ?? undefined,
    images: [],
  };
}

const FORMS = "a string, an array of strings, an array of tokens, or an array of token arrays";

/** Ends at the first fault. */
function readInputs(input: JsonValue | undefined): Pick<EmbeddingsRequest, "inputs" | "isList"> {
  if (input === undefined || input === null) throw invalid("input", "input is required.");
  if (typeof input === "string") return { inputs: [textOf(input, "input")], isList: false };
  if (!Array.isArray(input)) throw invalid("input", `input must be ${FORMS}.`);
  const [first] = input;
  if (first === undefined) throw invalid("input", "input must not be empty: got an empty array.");
  if (typeof first === "number") return { inputs: [tokensOf(input, "input")], isList: false };
  if (input.length > MAX_INPUTS) {
    const limit = MAX_INPUTS.toLocaleString("en-US");
    throw invalid("input", `input must have at most ${limit} items: got ${input.length}.`);
  }
  if (typeof first === "string") {
    return { inputs: input.map((one, at) => textOf(one, `input[${at}]`)), isList: true };
  }
  if (Array.isArray(first)) {
    return { inputs: input.map((one, at) => tokensOf(one, `input[${at}]`)), isList: true };
  }
  throw invalid("input[0]", `input must be ${FORMS}: got ${kindOf(first)} in the array.`);
}

function textOf(value: JsonValue, param: string): string {
  if (typeof value !== "string") throw wrong(param, "a string, like the first input", value);
  if (value === "") throw invalid(param, `${param} must not be empty: got "".`);
  return value;
}

function tokensOf(value: JsonValue, param: string): { readonly tokens: number } {
  if (!Array.isArray(value)) throw wrong(param, "an array of tokens, like the first input", value);
  if (value.length === 0) throw invalid(param, `${param} must not be empty: got an empty array.`);
  for (let at = 0; at < value.length; at++) {
    const token = value[at]!;
    if (typeof token === "number" && Number.isSafeInteger(token) && token >= 0) continue;
    throw wrong(`${param}[${at}]`, "a token: a whole number of at least 0", token);
  }
  return { tokens: value.length };
}

function wrong(param: string, right: string, value: JsonValue): Refusal {
  return invalid(param, `${param} must be ${right}: got ${kindOf(value)}.`);
}

function kindOf(value: JsonValue): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value === "" ? '""' : "a string";
  if (Array.isArray(value)) return "an array";
  return value === null || typeof value === "boolean" ? String(value) : "an object";
}
