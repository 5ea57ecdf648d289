import type { JsonObject } from "../../../wire/dialects/mod.ts";
import type { Transport, UpstreamRequest } from "../transport.ts";

/**
 * Bodies of messages for a cloud, which has the model in the path and the version of the API in the body.
 *
 * @param version What `anthropic_version` is.
 * @param leftOut Fields that the cloud does not take.
 */
export function withVersion(
  body: JsonObject,
  version: string,
  leftOut: readonly string[],
): JsonObject {
  const sent: JsonObject = { ...body, anthropic_version: version };
  for (const field of ["model", ...leftOut]) delete sent[field];
  return sent;
}

const encoder = new TextEncoder();

/** A transport that says in the body which beta features a request uses, and sends no version headers. */
export function withBetasInBody(send: Transport): Transport {
  return (request) => {
    const {
      "anthropic-beta": betas,
      "anthropic-version": _,
      ...headers
    } = request.headers;
    if (betas === undefined || request.body === undefined) return send({ ...request, headers });
    const list = betas.split(",").map((one) => one.trim()).filter((one) => one !== "");
    const field = `{"anthropic_beta":${JSON.stringify(list)},`;
    return send({ ...request, headers, body: begunWith(field, request.body) });
  };
}

/** An object's text with another beginning instead of its brace. */
function begunWith(
  beginning: string,
  body: NonNullable<UpstreamRequest["body"]>,
): NonNullable<UpstreamRequest["body"]> {
  if (typeof body === "string") return `${beginning}${body.slice(1)}`;
  return {
    size: body.size - 1 + encoder.encode(beginning).byteLength,
    async *[Symbol.asyncIterator]() {
      let isFirst = true;
      for await (const chunk of body) {
        if (isFirst) yield encoder.encode(beginning);
        yield isFirst ? chunk.subarray(1) : chunk;
        isFirst = false;
      }
    },
  };
}
