import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { VERSION } from "../platform/mod.ts";

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A stage of a request that is being traced. */
export interface Stage {
  /** W3C `traceparent` of this stage, to be sent upstream; `undefined` if tracing is off. */
  readonly traceparent: string | undefined;
  /**
   * Ends the stage.
   *
   * @param attributes Further attributes of the span.
   * @param error Marks the stage as failed.
   */
  end(attributes?: Attributes, error?: unknown): void;
}

/** The trace of one request. */
export interface Trace {
  /**
   * Starts a stage.
   *
   * @param name Name of the span.
   * @param kind `client` for requests to upstreams. Default: `internal`.
   */
  begin(name: string, attributes?: Attributes, kind?: "internal" | "client"): Stage;
  /** Adds attributes to the span of the request itself. */
  set(attributes: Attributes): void;
  /** Ends the span of the request itself, unless the platform does. */
  end(): void;
}

/**
 * Returns the trace of the request in the current context, and renames its span.
 *
 * A turn of a WebSocket gets a span of its own below that of the handshake; end it with {@linkcode Trace.end}.
 */
export type Tracing = (name: string, options?: { readonly isTurn: boolean }) => Trace;

const NO_STAGE: Stage = { traceparent: undefined, end() {} };
const NO_TRACE: Trace = { begin: () => NO_STAGE, set() {}, end() {} };

/** Tracing for processes that export nothing. Costs nothing. */
export const NO_TRACING: Tracing = () => NO_TRACE;

/**
 * Traces with the platform's OpenTelemetry (`OTEL_DENO=true`). Spans are children of the span that the platform makes for
 * each request, which continues the client's `traceparent`. Spans never contain keys, prompts or addresses.
 *
 * @returns A function that returns the trace of the current request.
 */
export function openTelemetry(): Tracing {
  const tracer = trace.getTracer("sluice", VERSION);
  return (name, { isTurn } = { isTurn: false }) => {
    const active = context.active();
    const turn = isTurn ? tracer.startSpan(name, {}, active) : undefined;
    const parent = turn === undefined ? active : trace.setSpan(active, turn);
    const request = turn ?? trace.getSpan(active);
    if (turn === undefined) request?.updateName(name);
    return {
      set: (attributes) => void request?.setAttributes({ ...attributes }),
      end: () => turn?.end(),
      begin(stage, attributes = {}, kind = "internal") {
        const span = tracer.startSpan(stage, {
          attributes: { ...attributes },
          kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
        }, parent);
        return { traceparent: traceparentOf(span), end: (more, error) => end(span, more, error) };
      },
    };
  };
}

/** Formats the header by hand, since Deno 2.4 has no propagator (https://www.w3.org/TR/trace-context/). */
function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

function end(span: Span, attributes: Attributes = {}, error: unknown): void {
  span.setAttributes({ ...attributes });
  if (error !== undefined) {
    const name = error instanceof Error ? error.name : "Error";
    span.setStatus({ code: SpanStatusCode.ERROR, message: name });
  }
  span.end();
}

/**
 * Runs work as a stage: ends the stage when the work settles, with an error if it fails.
 *
 * @returns The result of the work.
 * @throws Whatever the work throws.
 */
export async function during<T>(stage: Stage, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    stage.end();
    return result;
  } catch (error) {
    stage.end({}, error);
    throw error;
  }
}
