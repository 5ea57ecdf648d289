import { isObject, type JsonObject, objects, text } from "../../../wire/dialects/mod.ts";
import type { Adjust, NoteChange } from "./adjust.ts";
import { withReasonedCalls } from "./history.ts";
import { moonshotSchema } from "./moonshot_schema.ts";

/**
 * A chat body as Moonshot's service takes it.
 *
 * Sources: platform.moonshot.ai (chat API, partial mode, thinking models);
 * `reasoning_content is missing in assistant tool call message`: continuedev/continue#11711;
 * `tool_choice … is incompatible with thinking enabled`: UKGovernmentBEIS/inspect_ai#5152.
 */
export const adjustForMoonshot: Adjust = (body, note) => {
  const { n: _, ...rest } = body;
  const model = text(body.model) ?? "";
  const adjusted = withFreeChoice(rest, model, note);
  const reasoned = reasons(adjusted, model) ? withReasonedCalls(adjusted) : adjusted;
  return withPartial(withSchemas(reasoned));
};

/** Schemas of tools and of the answer, in the service's form. */
function withSchemas(body: JsonObject): JsonObject {
  const { tools, response_format: format } = body;
  return {
    ...body,
    ...(Array.isArray(tools) && {
      tools: tools.map((tool) => {
        if (!isObject(tool) || !isObject(tool.function)) return tool;
        const { parameters } = tool.function;
        if (!isObject(parameters)) return tool;
        return { ...tool, function: { ...tool.function, parameters: moonshotSchema(parameters) } };
      }),
    }),
    ...(isObject(format) && isObject(format.json_schema) && isObject(format.json_schema.schema) && {
      response_format: {
        ...format,
        json_schema: { ...format.json_schema, schema: moonshotSchema(format.json_schema.schema) },
      },
    }),
  };
}

const alwaysReasons = (model: string) => /k3|k2\.7|thinking/.test(model);

/** Whether the model will reason; k2.5 and k2.6 do unless it is switched off. */
function reasons({ thinking }: JsonObject, model: string): boolean {
  if (alwaysReasons(model)) return true;
  return /k2\.[56]/.test(model) && !(isObject(thinking) && thinking.type === "disabled");
}

/**
 * A model that reasons cannot be made to call one tool. k3 takes `required`, so it is offered that
 * tool alone; k2.5 and k2.6 give up reasoning where the caller did not ask for it; the others are
 * left to choose.
 */
function withFreeChoice(body: JsonObject, model: string, note: NoteChange): JsonObject {
  const { tool_choice: choice, ...rest } = body;
  const name = isObject(choice) && isObject(choice.function)
    ? text(choice.function.name)
    : undefined;
  if (name === undefined && choice !== "required" || !reasons(body, model)) return body;
  if (/k3/.test(model)) {
    const only = objects(body.tools).filter(({ function: own }) =>
      isObject(own) && own.name === name
    );
    return { ...rest, ...(name === undefined ? {} : { tools: only }), tool_choice: "required" };
  }
  if (!alwaysReasons(model) && body.thinking === undefined) {
    return { ...body, thinking: { type: "disabled" } };
  }
  note("tool_choice=auto");
  return { ...rest, tool_choice: "auto" };
}

/** The beginning of an answer is marked as one; with `json_object` the service takes none. */
function withPartial(body: JsonObject): JsonObject {
  const messages = objects(body.messages);
  const last = messages.at(-1);
  const format = isObject(body.response_format) ? body.response_format.type : undefined;
  if (last?.role !== "assistant" || format === "json_object") return body;
  return { ...body, messages: [...messages.slice(0, -1), { ...last, partial: true }] };
}
