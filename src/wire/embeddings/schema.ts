import * as z from "zod";
import { MAX_INPUTS } from "./endpoint.ts";

const inputText = z.string().min(1);
const inputTokens = z.array(z.int().nonnegative()).min(1);

/** All fields but `input`, which `readInputs` checks: the schema library takes a microsecond for each token. */
export const embeddingsOptions = z.looseObject({
  model: z.string().min(1),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.int().min(1).nullish(),
  user: z.string().nullish(),
});

/** Body of `POST /v1/embeddings`. Fields not named here are passed on unchanged. */
export const embeddingsRequest = embeddingsOptions.extend({
  input: z.union([
    inputText,
    z.array(inputText).min(1).max(MAX_INPUTS),
    inputTokens,
    z.array(inputTokens).min(1).max(MAX_INPUTS),
  ]).describe("A text, several texts, the tokens of a text, or those of several texts."),
});
