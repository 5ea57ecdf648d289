import {
  type Context,
  context,
  createContextKey,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
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
   * @param kind `client` for requests to upstreams. Default: `internal`.
   */
  begin(name: string, attributes?: Attributes, kind?: "internal" | "client"): Stage;
  /** Adds attributes to the span of the request itself. */
  set(attributes: Attributes): void;
  /** Ends the span of a turn; that of a request ends with its handler. */
  end(): void;
}

/** How requests are traced. */
export interface Tracing {
  /** Runs what answers a request, whose span ends when that has returned a response. */
  within(
    request: Request,
    answer: () => Response | Promise<Response>,
  ): Response | Promise<Response>;
  /**
   * Returns the trace of the request that is being answered, whose span gets a name.
   *
   * A turn of a WebSocket gets a span of its own below that of the handshake; end it with {@linkcode Trace.end}.
   */
  named(name: string, options?: { readonly isTurn: boolean }): Trace;
}

const NO_STAGE: Stage = { traceparent: undefined, end() {} };
const NO_TRACE: Trace = { begin: () => NO_STAGE, set() {}, end() {} };

/** Tracing for processes that export nothing. Costs nothing. */
export const NO_TRACING: Tracing = {
  within: (_request, answer) => answer(),
  named: () => NO_TRACE,
};

/** A request that has no span of the platform's. */
interface Entered {
  /** What the client's `traceparent` says. */
  readonly caller: Context;
  readonly method: string;
  /** Its span, once it has a name: what is asked for only to see whether the gateway is there has none. */
  span?: Span;
}

const ENTERED = createContextKey("sluice: request");

/**
 * Traces with OpenTelemetry. A request's span continues the client's `traceparent`; where the platform traces (`OTEL_DENO=true`), it
 * is the platform's. Spans never contain keys, prompts or addresses.
 */
export function openTelemetry(): Tracing {
  const tracer = trace.getTracer("sluice", VERSION);
  return {
    within(request, answer) {
      if (trace.getActiveSpan() !== undefined) return answer(); // the platform's
      const caller = propagation.extract(context.active(), request.headers, HEADERS);
      const entered: Entered = { caller, method: request.method };
      return ending(
        entered,
        async () => await context.with(context.active().setValue(ENTERED, entered), answer),
      );
    },
    named(name, { isTurn } = { isTurn: false }) {
      const active = context.active();
      const span = isTurn ? turnSpan(tracer, name, active) : requestSpan(tracer, name, active);
      const inside = span === undefined ? active : trace.setSpan(active, span);
      return {
        set: (attributes) => void span?.setAttributes({ ...attributes }),
        end: () => isTurn && span?.end(),
        begin(stage, attributes = {}, kind = "internal") {
          const part = tracer.startSpan(stage, {
            attributes: { ...attributes },
            kind: kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
          }, inside);
          return { traceparent: traceparentOf(part), end: (more, error) => end(part, more, error) };
        },
      };
    },
  };
}

function requestSpan(tracer: Tracer, name: string, active: Context): Span | undefined {
  const entered = enteredIn(active);
  if (entered === undefined) return trace.getSpan(active)?.updateName(name);
  const attributes = { "http.request.method": entered.method };
  return entered.span = tracer.startSpan(
    name,
    { kind: SpanKind.SERVER, attributes },
    entered.caller,
  );
}

function turnSpan(tracer: Tracer, name: string, active: Context): Span {
  const handshake = enteredIn(active)?.span;
  return tracer.startSpan(
    name,
    {},
    handshake === undefined ? active : trace.setSpan(active, handshake),
  );
}

function enteredIn(active: Context): Entered | undefined {
  return active.getValue(ENTERED) as Entered | undefined;
}

/** Ends the span of a request when it is answered: what a stream still does has spans of its own. */
async function ending(entered: Entered, answer: () => Promise<Response>): Promise<Response> {
  try {
    const response = await answer();
    const { status } = response;
    entered.span?.setAttribute("http.response.status_code", status);
    if (status >= 500) entered.span?.setStatus({ code: SpanStatusCode.ERROR });
    return response;
  } finally {
    entered.span?.end();
  }
}

const HEADERS = {
  keys: (headers: Headers) => [...headers.keys()],
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
};

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
