import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { VERSION } from "../platform/mod.ts";

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** One stage of a request, while it lasts. */
export interface Stage {
  /** W3C `traceparent` of this stage, for whoever it asks; undefined when nothing is traced. */
  readonly traceparent: string | undefined;
  /** Ends it; with an error when it failed. */
  end(attributes?: Attributes, error?: unknown): void;
}

/** The stages of one request. */
export interface Trace {
  /** Begins a stage. */
  begin(name: string, attributes?: Attributes, kind?: "internal" | "client"): Stage;
  /** Says more about the request itself. */
  set(attributes: Attributes): void;
}

/** Makes the trace of the request that is being answered just now. */
export type Tracing = (name: string) => Trace;

const NO_STAGE: Stage = { traceparent: undefined, end() {} };
const NO_TRACE: Trace = { begin: () => NO_STAGE, set() {} };

/** For processes that export nothing: costs nothing. */
export const NO_TRACING: Tracing = () => NO_TRACE;

/**
 * Spans by the platform's own OpenTelemetry (`OTEL_DENO=true`), below the one that it makes for each
 * request and that continues the caller's `traceparent`. Never with keys, prompts or addresses.
 */
export function openTelemetry(): Tracing {
  const tracer = trace.getTracer("sluice", VERSION);
  return (name) => {
    const parent = context.active();
    const request = trace.getSpan(parent);
    request?.updateName(name);
    return {
      set: (attributes) => void request?.setAttributes({ ...attributes }),
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

/** By hand, since Deno 2.4 has no propagator (https://www.w3.org/TR/trace-context/). */
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

/** Runs a stage to its end. */
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
