import type { Caller } from "../accounts/mod.ts";
import { checkMedia, permittedOutput, type Route } from "../catalog/mod.ts";
import { readAside } from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import { isSimulated, SIMULATED_HEADER } from "../upstreams/mod.ts";
import type { RelayParts, RelayReply, RelayRequest } from "./request.ts";
import { Work } from "./work.ts";

/** One request, from a parsed body to a reply that settles itself. */
export async function relay(parts: RelayParts, request: RelayRequest): Promise<RelayReply> {
  const { dialect, caller, trace } = request;
  const beta = "anthropic-beta" in request.versions;
  const read = readAside(request.body, (json) => dialect.read(json, { beta }));
  const route = parts.catalog.resolve(read.model);
  allow(caller, route);
  checkMedia(route, read);
  parts.images.checkCount(read.images);
  const { asked, ignored } = dialect.reason(read, route.reasoning);
  const inputTokens = dialect.countInput(asked);
  const permitted = permittedOutput(route, { inputTokens, asked: asked.maxOutput });

  trace.set({ "sluice.route": route.id, "sluice.streamed": asked.stream });

  const left = new AbortController();
  const ended = parts.running.begin({
    requestId: request.requestId,
    accountId: caller.accountId,
    email: caller.email,
    route: route.id,
    dialect: dialect.name,
    streamed: asked.stream,
    startedAtMs: parts.now(),
  }, () => left.abort()); // whoever stops the gateway waits from here on
  const end = () => {
    ended();
    request.over();
  };
  const admission = trace.begin("admission");
  const admitted = await parts.admission.admit({
    requestId: request.requestId,
    caller,
    route,
    stream: asked.stream,
    inputTokens: Math.ceil(inputTokens * parts.estimates.factor(route)),
    permittedOutput: permitted,
    choices: asked.choices,
  }, request.stands).catch((error) => {
    admission.end({}, error);
    end();
    throw error;
  });
  admission.end();
  const work = new Work(parts, request, {
    route,
    asked,
    ignored,
    inputTokens,
    admitted,
    left,
    end,
  });
  try {
    await work.takeImages();
    const called = await work.call();
    request.body.blobs.release();
    const headers = {
      "x-sluice-upstream": called.target.upstream,
      ...(isSimulated(called.reply) ? { [SIMULATED_HEADER]: "true" } : {}),
      ...(work.ignored.length === 0 ? {} : { "x-sluice-ignored": work.ignored.join(", ") }),
    };
    const { body, settled } = await work.finish(called);
    return { headers, body, settled };
  } catch (error) {
    throw await work.fail(error);
  }
}

function allow(caller: Caller, route: Route): void {
  if (caller.models === null || caller.models.has(route.id)) return;
  throw new Refusal(
    "permission_denied",
    `This API key may not use the model '${route.id}'. It may use: ${
      [...caller.models].join(", ")
    }.`,
    { param: "model" },
  );
}
