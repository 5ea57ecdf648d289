import {
  type AppliedReasoning,
  fitted,
  type ParsedRequest,
  type ServingRoute,
} from "../../dialect.ts";
import { isObject, type JsonObject, type JsonValue, objects } from "../../json.ts";
import { fitEffort, isEffort, mayReason, type RouteReasoning } from "../../reasoning.ts";
import { kindOf } from "../items.ts";
import { withSealsOf } from "../../neutral/sealed_reasoning.ts";

/**
 * Fits what a responses body says of reasoning to how its route reasons. No effort is an error.
 *
 * The body then holds efforts that the route knows, in `reasoning` and in items that update it, so that it can be carried.
 * The writer of the reply repeats the client's own `reasoning`: `sentReasoning` where that is set, else the body's.
 */
export function applyReasoning(request: ParsedRequest, route: ServingRoute): AppliedReasoning {
  const applied = fittedTo(withSealsOf(request, route.id), route);
  const { request: fitting } = applied;
  if (fitting.body.store === false || !mayReason(route, fitting)) return applied;
  return { ...applied, request: { ...fitting, keepsReasoning: true } };
}

function fittedTo(own: ParsedRequest, route: ServingRoute): AppliedReasoning {
  switch (route.reasoning) {
    case "effort":
      return applyEffort(own, route);
    case "thinking":
      return applySwitch(own);
    case "always": {
      const isSaid = (effortOf(own.body) ?? undefined) !== undefined;
      const dropped = isSaid ? ["reasoning.effort"] : [];
      return fitted(withEfforts(own, () => undefined), { dropped });
    }
    case "none": {
      const effort = effortOf(own.body) ?? undefined;
      const isMissed = effort !== undefined && effort !== "none" ||
        Object.entries(isObject(own.body.reasoning) ? own.body.reasoning : {})
          .some(([field, value]) => field !== "effort" && (value ?? undefined) !== undefined);
      const changed = withEfforts(own, () => undefined);
      const { reasoning: _, ...body } = changed.body;
      return fitted({ ...changed, body }, { dropped: isMissed ? ["reasoning"] : [] });
    }
  }
}

/** The effort in effect at the end of the input: that of the last update, else the request's own. */
function effortOf(body: JsonObject): JsonValue | undefined {
  const updated = objects(body.input).findLast((item) => updateOf(item) !== undefined);
  if (updated !== undefined) return updateOf(updated);
  return isObject(body.reasoning) ? body.reasoning.effort : undefined;
}

/** The effort that an item changes to; undefined for other items. */
function updateOf(item: JsonObject): JsonValue | undefined {
  if (kindOf(item) !== "configuration_update" || !isObject(item.reasoning)) return undefined;
  return item.reasoning.effort ?? undefined;
}

function applyEffort(request: ParsedRequest, route: RouteReasoning): AppliedReasoning {
  const { effort, adjusted } = fitEffort(effortOf(request.body), route);
  const changed = withEfforts(request, (asked) => fitEffort(asked, route).effort);
  return fitted(effort === undefined ? changed : { ...changed, reasoning: { effort } }, {
    adjusted,
  });
}

/** Where reasoning can only be switched, an effort switches it on, and `none` off. */
function applySwitch(request: ParsedRequest): AppliedReasoning {
  const effort = effortOf(request.body) ?? undefined;
  if (effort === undefined) return fitted(request);
  const changed = withEfforts(request, (asked) => asked === "none" ? "none" : undefined);
  if (!isEffort(effort)) return fitted(changed, { dropped: ["reasoning.effort"] });
  const enabled = effort !== "none";
  return fitted({ ...changed, reasoning: { enabled } }, {
    adjusted: [`thinking=${enabled ? "enabled" : "disabled"}`],
  });
}

/**
 * A request whose efforts are replaced, in `reasoning` and in each item that updates it.
 *
 * @param fit Returns the effort for one that the client wrote, undefined for none. Called with undefined where `reasoning` has none.
 */
function withEfforts(
  request: ParsedRequest,
  fit: (asked: JsonValue | undefined) => string | undefined,
): ParsedRequest {
  const { reasoning, ...rest } = request.body;
  const own = isObject(reasoning) ? reasoning : {};
  const said = withEffort(own, fit(own.effort ?? undefined));
  const body: JsonObject = Object.keys(said).length === 0 ? rest : { ...rest, reasoning: said };
  if (Array.isArray(rest.input)) {
    const updates = rest.input.some((item) => isObject(item) && updateOf(item) !== undefined);
    if (updates) {
      body.input = rest.input.map((item) => {
        const asked = isObject(item) ? updateOf(item) : undefined;
        if (asked === undefined || !isObject(item) || !isObject(item.reasoning)) return item;
        return { ...item, reasoning: withEffort(item.reasoning, fit(asked)) };
      });
    }
  }
  return {
    ...request,
    body,
    sentReasoning: request.sentReasoning === undefined ? reasoning ?? null : request.sentReasoning,
  };
}

function withEffort(reasoning: JsonObject, effort: string | undefined): JsonObject {
  const { effort: _, ...rest } = reasoning;
  return effort === undefined ? rest : { ...rest, effort };
}
