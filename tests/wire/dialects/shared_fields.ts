/**
 * The fields of requests that at least two dialects have: how each of them writes one, what its value can be that is not its
 * default, and what becomes of it where the upstream's dialect has no place for it. `docs/dialects.md` says the same in words.
 *
 * @module
 */

import fc from "fast-check";
import type { DialectName, JsonObject, JsonValue } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

/** A request's body, of any dialect. */
// deno-lint-ignore no-explicit-any -- bodies of three dialects, which the table reads and writes
export type Body = any;

/** What becomes of a field in another dialect than the client's. */
export type Fate =
  /** It is left out, and named in `X-Sluice-Ignored`. */
  | { readonly why: string; readonly named: readonly string[] }
  /** It is left out, and nothing is missed. */
  | { readonly why: string; readonly silent: true }
  /** It is said in other words: as `read` of the upstream's dialect, or of this row, finds them. */
  // deno-lint-ignore no-explicit-any -- each row's own value
  | { readonly why: string; readonly as: (value: any) => unknown; readonly read?: Read }
  /** The request is rejected, naming it. */
  | { readonly why: string; readonly rejected: RegExp };

type Read = (body: Body) => unknown;

/** How one dialect says it. */
export interface Place {
  /** Puts a value into a request. */
  // deno-lint-ignore no-explicit-any -- each row's own value
  readonly write: (body: Body, value: any) => void;
  readonly read: Read;
}

/** A field that dialects share. */
export interface SharedField {
  readonly name: string;
  /** Top-level fields of the SDKs' request types that it stands in. */
  readonly fields: string;
  /** Never the default. */
  readonly value: fc.Arbitrary<unknown>;
  readonly in: Partial<Readonly<Record<DialectName, Place>>>;
  /** By the client's dialect and the upstream's, what is not the same value in the upstream's place. */
  readonly but?: Partial<Readonly<Record<`${DialectName} ${DialectName}`, Fate>>>;
  /** Whether the upstream is one that its service's quirks say it takes this. */
  readonly shaping?: JsonObject;
  /** How the route reasons; not at all by default. */
  readonly route?: "effort" | "thinking";
}

/** What an upstream got of a request, and what the client was told. */
export interface Outcome {
  readonly sent: Body;
  /** Names in `X-Sluice-Ignored`. */
  readonly dropped: readonly string[];
  /** Changes in `X-Sluice-Adjusted`. */
  readonly adjusted: readonly string[];
}

/** Holds what came of a request against the table. */
export function checkOutcome(
  field: SharedField,
  [from, to]: readonly [DialectName, DialectName],
  value: unknown,
  { sent, dropped, adjusted }: Outcome,
): void {
  const fate = field.but?.[`${from} ${to}`];
  if (fate === undefined) {
    assertEquals(field.in[to]!.read(sent), value);
    assertEquals([dropped, adjusted], [[], []]);
  } else if ("as" in fate) {
    assertEquals((fate.read ?? field.in[to]!.read)({ ...sent, adjusted }), fate.as(value));
    assertEquals(dropped, []);
  } else {
    assertEquals(dropped.toSorted(), "named" in fate ? [...fate.named].toSorted() : []);
    if (typeof value !== "string" || value.length < 4) return;
    assert(!JSON.stringify(sent).includes(JSON.stringify(value)), "it is not sent");
  }
}

/** A request that says nothing but a greeting. */
export function plainBody(dialect: DialectName): Body {
  if (dialect === "responses") {
    return { model: "m", input: [{ type: "message", role: "user", content: "Hi" }] };
  }
  const messages = [{ role: "user", content: "Hi" }];
  return dialect === "chat" ? { model: "m", messages } : { model: "m", max_tokens: 900, messages };
}

export const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((one) => one.trim() === one && one !== "");
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
/** Objects as a client of any dialect writes them: digits as keys would change places. */
export const args = fc.dictionary(
  fc.stringMatching(/^[a-z]{1,5}$/),
  fc.oneof(word, fc.integer(), fc.boolean()),
  { minKeys: 1, maxKeys: 4, noNullPrototype: true },
);
const schema = args.map((properties) => ({ type: "object", properties }));
const share = fc.double({ min: 0.01, max: 0.99, noNaN: true });

/** A field at the top of a request. */
function at(...path: string[]): Place {
  const last = path.at(-1)!;
  return {
    write(body, value) {
      let inside = body;
      for (const step of path.slice(0, -1)) inside = inside[step] ??= {};
      inside[last] = value;
    },
    read: (body) => path.reduce((inside, step) => inside?.[step], body),
  };
}

/** A block or a part of the last message of a user. */
function part(of: {
  readonly list: "messages" | "input";
  // deno-lint-ignore no-explicit-any -- each row's own value
  readonly write: (value: any) => JsonValue;
  readonly read: (part: Body) => unknown;
}): Place {
  return {
    write: (body, value) => body[of.list].push({ role: "user", content: [of.write(value)] }),
    read(body) {
      const { content } = body[of.list].at(-1);
      return typeof content === "string" ? content : of.read(content.at(-1));
    },
  };
}

const CALL = { id: "call_1", name: "f", args: '{"a":1}' };

/** The turn of an assistant. */
const chatSaid = (more: JsonObject) => (body: Body) =>
  body.messages.push({ role: "assistant", content: "", ...more });
const messagesSaid = (...blocks: JsonObject[]) => (body: Body) =>
  body.messages.push({ role: "assistant", content: blocks });
const responsesSaid = (...items: JsonObject[]) => (body: Body) => body.input.push(...items);
const lastOf = (list: Body[], role: string) => list.findLast((one) => one.role === role);
const blockOf = (body: Body, type: string) =>
  body.messages.flatMap(({ content }: Body) => Array.isArray(content) ? content : [])
    .findLast((one: Body) => one.type === type);
const itemOf = (body: Body, type: string) => body.input.findLast((one: Body) => one.type === type);

type Called = typeof CALL;
const call: SharedField["in"] = {
  chat: {
    write: (body, { id, name, args }: Called) =>
      chatSaid({ tool_calls: [{ id, type: "function", function: { name, arguments: args } }] })(
        body,
      ),
    read: (body) =>
      lastOf(body.messages, "assistant").tool_calls.map((one: Body) => ({
        id: one.id,
        name: one.function.name,
        args: one.function.arguments,
      }))[0],
  },
  messages: {
    write: (body, { id, name, args }: Called) =>
      messagesSaid({ type: "tool_use", id, name, input: JSON.parse(args) })(body),
    read: (body) => {
      const { id, name, input } = blockOf(body, "tool_use");
      return { id, name, args: JSON.stringify(input) };
    },
  },
  responses: {
    write: (body, { id, name, args }: Called) =>
      responsesSaid({ type: "function_call", call_id: id, name, arguments: args })(body),
    read: (body) => {
      const { call_id: id, name, arguments: args } = itemOf(body, "function_call");
      return { id, name, args };
    },
  },
};

/** The result of a call, after the call. */
function result(of: {
  // deno-lint-ignore no-explicit-any -- each row's own value
  readonly write: Readonly<Record<DialectName, (value: any) => JsonValue>>;
  readonly read: Readonly<Record<DialectName, Read>>;
}): SharedField["in"] {
  const { chat, messages, responses } = call as Required<typeof call>;
  return {
    chat: {
      write(body, value) {
        chat.write(body, CALL);
        body.messages.push({ role: "tool", tool_call_id: CALL.id, content: of.write.chat(value) });
      },
      read: (body) => of.read.chat(lastOf(body.messages, "tool").content),
    },
    messages: {
      write(body, value) {
        messages.write(body, CALL);
        const result = { type: "tool_result", tool_use_id: CALL.id };
        body.messages.push({
          role: "user",
          content: [{ ...result, content: of.write.messages(value) }],
        });
      },
      read: (body) => of.read.messages(blockOf(body, "tool_result").content),
    },
    responses: {
      write(body, value) {
        responses.write(body, CALL);
        const output = of.write.responses(value);
        body.input.push({ type: "function_call_output", call_id: CALL.id, output });
      },
      read: (body) => of.read.responses(itemOf(body, "function_call_output").output),
    },
  };
}

interface Offered {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly strict: boolean;
}

const offer = {
  chat: {
    write: (body: Body, { name, description, schema, strict }: Offered) => {
      const own = { name, description, parameters: schema, strict };
      body.tools = [{ type: "function", function: own }];
    },
    read: (body: Body) => {
      const { name, description, parameters: schema, strict } = body.tools[0].function;
      return { name, description, schema, strict };
    },
  },
  messages: {
    write: (body: Body, { name, description, schema, strict }: Offered) => {
      body.tools = [{ name, description, input_schema: schema, strict }];
    },
    read: (body: Body) => {
      const { name, description, input_schema: schema, strict } = body.tools[0];
      return { name, description, schema, strict };
    },
  },
  responses: {
    write: (body: Body, { name, description, schema, strict }: Offered) => {
      body.tools = [{ type: "function", name, description, parameters: schema, strict }];
    },
    read: (body: Body) => {
      const { name, description, parameters: schema, strict } = body.tools[0];
      return { name, description, schema, strict };
    },
  },
};

const TOOL: Offered = { name: "f", description: "d", schema: { type: "object" }, strict: true };
/** A field beside a tool. */
const besideTool = (place: Place, dialect: DialectName): Place => ({
  ...place,
  write(body, value) {
    offer[dialect].write(body, TOOL);
    place.write(body, value);
  },
});

interface Custom {
  readonly name: string;
  readonly description: string;
  readonly syntax: string;
  readonly definition: string;
}

/** A custom tool as the function that stands for it. */
const asFunction = ({ name, description, syntax, definition }: Custom) => ({
  name,
  said: `${description}\n\nThe input must match this ${syntax} grammar:\n${definition}`,
  takes: ["input"],
});

/** Ways to choose among tools, in no dialect's words. */
const CHOICES: Readonly<Record<string, Readonly<Record<DialectName, JsonValue>>>> = {
  none: { chat: "none", messages: { type: "none" }, responses: "none" },
  required: { chat: "required", messages: { type: "any" }, responses: "required" },
  named: {
    chat: { type: "function", function: { name: "f" } },
    messages: { type: "tool", name: "f" },
    responses: { type: "function", name: "f" },
  },
};
function choice(dialect: DialectName): Place {
  return besideTool({
    write: (body, value: string) => body.tool_choice = CHOICES[value]![dialect],
    read: ({ tool_choice: found }) =>
      Object.keys(CHOICES).find((one) =>
        JSON.stringify(CHOICES[one]![dialect]) === JSON.stringify(found)
      ),
  }, dialect);
}

interface Format {
  readonly name: string;
  readonly description: string;
  readonly strict: boolean;
  readonly schema: JsonObject;
}
const formatOf = ({ name, description, strict, schema }: Body) => ({
  name,
  description,
  strict,
  schema,
});

/** A picture of one pixel. */
const PIXEL_DATA =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PIXEL = `data:image/png;base64,${PIXEL_DATA}`;
const image = fc.constantFrom(PIXEL, "https://host.example/a.png");
const sourceOf = (url: string) =>
  url.startsWith("data:")
    ? { type: "base64", media_type: "image/png", data: PIXEL_DATA }
    : { type: "url", url };
const urlOf = ({ type, data, url, media_type: kind }: Body) =>
  type === "url" ? url : `data:${kind};base64,${data}`;
const PDF = "data:application/pdf;base64,JVBERi0=";

/** Chat servers other than OpenAI's refuse marks for caches; their caches work without. */
const NO_MARKS = { why: "few servers of the dialect take it, and caches work without" };
const HASHED = {
  why: "it may name a session, which no provider needs to know: its hash does the same",
  as: (key: unknown) => ({ isHash: key !== undefined }),
  read: (body: Body) => ({ isHash: /^sluice-[0-9a-f]{32}$/.test(body.prompt_cache_key) }),
};
const PRIVATE = {
  why: "it may hold private data, or be a tag for the gateway's own records",
};
const NO_TEXT_FORM = { why: "the dialect has text and a stop reason for it" };

/** Every field of requests that dialects share. */
export const SHARED_FIELDS: readonly SharedField[] = [
  {
    name: "instructions",
    fields: "system instructions messages",
    value: word,
    in: {
      chat: {
        write: (body, text) => body.messages.unshift({ role: "system", content: text }),
        read: (body) => body.messages[0].content,
      },
      messages: at("system"),
      responses: at("instructions"),
    },
  },
  {
    name: "text of a user",
    fields: "messages input",
    value: word,
    in: {
      chat: part({
        list: "messages",
        write: (text) => ({ type: "text", text }),
        read: ({ text }) => text,
      }),
      messages: part({
        list: "messages",
        write: (text) => ({ type: "text", text }),
        read: ({ text }) => text,
      }),
      responses: part({
        list: "input",
        write: (text) => ({ type: "input_text", text }),
        read: ({ text }) => text,
      }),
    },
  },
  {
    name: "image, by URL and by data",
    fields: "messages input",
    value: image,
    in: {
      chat: part({
        list: "messages",
        write: (url) => ({ type: "image_url", image_url: { url } }),
        read: ({ image_url: { url } }) => url,
      }),
      messages: part({
        list: "messages",
        write: (url) => ({ type: "image", source: sourceOf(url) }),
        read: ({ source }) => urlOf(source),
      }),
      responses: part({
        list: "input",
        write: (image_url) => ({ type: "input_image", image_url }),
        read: ({ image_url }) => image_url,
      }),
    },
  },
  {
    name: "detail of an image",
    fields: "messages input",
    value: fc.constantFrom("low", "high", "original"),
    in: {
      chat: part({
        list: "messages",
        write: (detail) => ({ type: "image_url", image_url: { url: PIXEL, detail } }),
        read: ({ image_url: { detail } }) => detail,
      }),
      responses: part({
        list: "input",
        write: (detail) => ({ type: "input_image", image_url: PIXEL, detail }),
        read: ({ detail }) => detail,
      }),
    },
    but: {
      "chat messages": { why: "the dialect has none", named: ["image_url.detail"] },
      "responses messages": { why: "the dialect has none", named: ["input_image.detail"] },
    },
  },
  {
    name: "document with its title",
    fields: "messages input",
    value: word.map((title) => ({ title, url: PDF })),
    in: {
      chat: part({
        list: "messages",
        write: ({ title, url }) => ({ type: "file", file: { filename: title, file_data: url } }),
        read: ({ file }) => ({ title: file.filename, url: file.file_data }),
      }),
      messages: part({
        list: "messages",
        write: ({ title }) => ({
          type: "document",
          title,
          source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
        }),
        read: ({ title, source }) => ({ title, url: urlOf(source) }),
      }),
      responses: part({
        list: "input",
        write: ({ title, url }) => ({ type: "input_file", filename: title, file_data: url }),
        read: ({ filename, file_data }) => ({ title: filename, url: file_data }),
      }),
    },
  },
  {
    name: "document by URL",
    fields: "messages input",
    value: fc.constantFrom("https://host.example/a.pdf"),
    in: {
      messages: part({
        list: "messages",
        write: (url) => ({ type: "document", source: { type: "url", url } }),
        read: ({ source }) => source.url,
      }),
      responses: part({
        list: "input",
        write: (file_url) => ({ type: "input_file", file_url }),
        read: ({ file_url }) => file_url,
      }),
    },
    but: {
      "messages chat": { why: "the dialect has none", rejected: /base64/ },
      "responses chat": { why: "the dialect has none", rejected: /base64/ },
    },
  },
  {
    name: "call of a tool",
    fields: "messages input",
    value: fc.record({ id: fc.stringMatching(/^call_[A-Za-z0-9]{1,20}$/), name, args })
      .map((one) => ({ ...one, args: JSON.stringify(one.args) })),
    in: call,
  },
  {
    name: "result of a tool",
    fields: "messages input",
    value: word,
    in: result({
      write: {
        chat: (text) => text,
        messages: (text) => [{ type: "text", text }],
        responses: (text) => text,
      },
      read: {
        chat: (text) => text,
        messages: ([{ text }]) => text,
        responses: (text) => text,
      },
    }),
  },
  {
    name: "image as the result of a tool",
    fields: "messages input",
    value: image,
    in: (({ messages, responses }) => ({ messages: messages!, responses: responses! }))(result({
      write: {
        chat: () => "",
        messages: (url) => [{ type: "image", source: sourceOf(url) }],
        responses: (image_url) => [{ type: "input_image", image_url }],
      },
      read: {
        chat: () => undefined,
        messages: ([{ source }]) => urlOf(source),
        responses: ([{ image_url }]) => image_url,
      },
    })),
    but: Object.fromEntries(["messages chat", "responses chat"].map((pair) => [pair, {
      why: "results are text there: the image follows in a message of the user",
      as: (url: string) => url,
      read: (body: Body) => lastOf(body.messages, "user").content.at(-1).image_url.url,
    }])),
  },
  {
    name: "reasoning of an earlier reply",
    fields: "messages input",
    value: word,
    in: {
      chat: {
        write: (body, text) => chatSaid({ content: "Yes", reasoning_content: text })(body),
        read: (body) => lastOf(body.messages, "assistant").reasoning_content,
      },
      messages: {
        write: (body, thinking) =>
          messagesSaid({ type: "thinking", thinking, signature: "sluice.1" }, {
            type: "text",
            text: "Yes",
          })(body),
        read: (body) => blockOf(body, "thinking").thinking,
      },
      responses: {
        write: (body, text) =>
          responsesSaid({
            type: "reasoning",
            id: "rs_1",
            summary: [],
            content: [{ type: "reasoning_text", text }],
          }, { type: "message", role: "assistant", content: "Yes" })(body),
        read: (body) => itemOf(body, "reasoning").content[0].text,
      },
    },
  },
  {
    name: "refusal in an earlier reply",
    fields: "messages input",
    value: word,
    in: {
      chat: {
        write: (body, refusal) => chatSaid({ content: null, refusal })(body),
        read: (body) => lastOf(body.messages, "assistant").refusal,
      },
      responses: {
        write: (body, refusal) =>
          responsesSaid({
            type: "message",
            role: "assistant",
            content: [{ type: "refusal", refusal }],
          })(body),
        read: (body) => itemOf(body, "message").content[0].refusal,
      },
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      ...NO_TEXT_FORM,
      as: (refusal: string) => refusal,
      read: (body: Body) => blockOf(body, "text").text,
    }])),
  },
  {
    name: "instruction in the middle of a conversation",
    fields: "messages input",
    value: word,
    in: {
      chat: {
        write: (body, content) => body.messages.push({ role: "system", content }),
        read: (body) => body.messages.at(-1).content,
      },
      messages: {
        write: (body, content) => body.messages.push({ role: "system", content }),
        read: (body) => body.messages.at(-1).content,
      },
      responses: {
        write: (body, content) => body.input.push({ type: "message", role: "developer", content }),
        read: (body) => body.input.at(-1).content,
      },
    },
    but: Object.fromEntries(
      (["messages chat", "responses chat", "chat messages", "responses messages"] as const)
        .map((pair) => [pair, {
          why:
            "many upstreams take one only at the front, and moving it there would invalidate their caches",
          as: (text: string) => `<system-reminder>\n${text}\n</system-reminder>`,
          read: (body: Body) => {
            const { role, content } = body.messages.at(-1);
            const said = typeof content === "string" ? content : content.at(-1).text;
            return role === "user" ? said.replace(/^Hi\n\n/, "") : role;
          },
        }]),
    ),
  },
  {
    name: "tool",
    fields: "tools",
    value: fc.record({ name, description: word, schema, strict: fc.boolean() }),
    in: offer,
  },
  {
    name: "custom tool",
    fields: "tools",
    value: fc.record({
      name,
      description: word,
      syntax: fc.constantFrom("lark", "regex"),
      definition: word,
    }),
    in: {
      chat: {
        write: (body, { name, description, syntax, definition }: Custom) => {
          const format = { type: "grammar", grammar: { syntax, definition } };
          body.tools = [{ type: "custom", custom: { name, description, format } }];
        },
        read: (body) => {
          const { name, description, format } = body.tools[0].custom;
          return { name, description, ...format.grammar };
        },
      },
      responses: {
        write: (body, { name, description, syntax, definition }: Custom) => {
          const format = { type: "grammar", syntax, definition };
          body.tools = [{ type: "custom", name, description, format }];
        },
        read: (body) => {
          const { name, description, format: { type: _, ...grammar } } = body.tools[0];
          return { name, description, ...grammar };
        },
      },
    },
    but: {
      ...Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
        why: "the dialect has none: a function with one text does the same",
        as: asFunction,
        read: ({ tools: [{ name, description, input_schema: { required } }] }: Body) => ({
          name,
          said: description,
          takes: required,
        }),
      }])),
      "responses chat": {
        why: "few servers of the dialect know them: a function with one text does the same",
        as: asFunction,
        read: ({ tools: [{ function: { name, description, parameters } }] }: Body) => ({
          name,
          said: description,
          takes: parameters.required,
        }),
      },
      "chat responses": {
        why: "few servers of the dialect know them: a function with one text does the same",
        as: asFunction,
        read: ({ tools: [{ name, description, parameters }] }: Body) => ({
          name,
          said: description,
          takes: parameters.required,
        }),
      },
    },
  },
  {
    name: "choice of a tool",
    fields: "tool_choice",
    value: fc.constantFrom(...Object.keys(CHOICES)),
    in: { chat: choice("chat"), messages: choice("messages"), responses: choice("responses") },
  },
  {
    name: "one call at a time",
    fields: "parallel_tool_calls tool_choice",
    value: fc.constant(false),
    in: {
      chat: besideTool(at("parallel_tool_calls"), "chat"),
      messages: besideTool({
        write: (body) => body.tool_choice = { type: "auto", disable_parallel_tool_use: true },
        read: ({ tool_choice: choice }) => !choice.disable_parallel_tool_use,
      }, "messages"),
      responses: besideTool(at("parallel_tool_calls"), "responses"),
    },
  },
  {
    name: "choice among some tools",
    fields: "tool_choice",
    value: fc.constantFrom("auto", "required"),
    in: {
      chat: {
        write: (body, mode: string) => {
          offer.chat.write(body, TOOL);
          body.tools.push({ type: "function", function: { name: "g" } });
          const tools = [{ type: "function", function: { name: "f" } }];
          body.tool_choice = { type: "allowed_tools", allowed_tools: { mode, tools } };
        },
        read: ({ tool_choice: choice }) => choice.allowed_tools.mode,
      },
      responses: {
        write: (body, mode: string) => {
          offer.responses.write(body, TOOL);
          body.tools.push({ type: "function", name: "g", parameters: { type: "object" } });
          const tools = [{ type: "function", name: "f" }];
          body.tool_choice = { type: "allowed_tools", mode, tools };
        },
        read: ({ tool_choice: choice }) => choice.mode,
      },
    },
    but: Object.fromEntries(
      (["chat messages", "chat responses", "responses messages", "responses chat"] as const)
        .map((pair) => [pair, {
          why: "only those tools are offered, which every server knows",
          as: (mode: string) => [1, mode],
          read: ({ tools, tool_choice: choice }: Body) => [
            tools.length,
            choice.type === "any" ? "required" : choice.type ?? choice,
          ],
        }]),
    ),
  },
  {
    name: "output limit",
    fields: "max_tokens max_completion_tokens max_output_tokens",
    value: fc.integer({ min: 1, max: 2_000 }),
    in: {
      chat: {
        ...at("max_completion_tokens"),
        read: (body) => body.max_completion_tokens ?? body.max_tokens,
      },
      messages: at("max_tokens"),
      responses: at("max_output_tokens"),
    },
  },
  {
    name: "temperature",
    fields: "temperature",
    value: share,
    in: { chat: at("temperature"), messages: at("temperature"), responses: at("temperature") },
  },
  {
    name: "temperature above 1",
    fields: "temperature",
    value: fc.double({ min: 1.01, max: 2, noNaN: true }),
    in: { chat: at("temperature"), responses: at("temperature") },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "1 is the dialect's highest",
      as: () => ({ sent: 1, adjusted: ["temperature=1"] }),
      read: (body: Body) => ({ sent: body.temperature, adjusted: body.adjusted }),
    }])),
  },
  {
    name: "top_p",
    fields: "top_p",
    value: share,
    in: { chat: at("top_p"), messages: at("top_p"), responses: at("top_p") },
  },
  {
    name: "top_k",
    fields: "top_k",
    value: fc.integer({ min: 1, max: 100 }),
    shaping: { topK: true },
    in: { chat: at("top_k"), messages: at("top_k"), responses: at("top_k") },
    but: {
      "responses chat": { why: "no SDK of the dialect sends it", named: ["top_k"] },
      "responses messages": { why: "no SDK of the dialect sends it", named: ["top_k"] },
    },
  },
  {
    name: "stop sequences",
    fields: "stop stop_sequences",
    value: fc.uniqueArray(word, { minLength: 1, maxLength: 6 }),
    in: { chat: at("stop"), messages: at("stop_sequences") },
    but: {
      "chat responses": { why: "the dialect has none", named: ["stop"] },
      "messages responses": { why: "the dialect has none", named: ["stop_sequences"] },
    },
  },
  {
    name: "any JSON object as reply",
    fields: "response_format text",
    value: fc.constant("json_object"),
    in: {
      chat: {
        write: (body, type) => body.response_format = { type },
        read: (body) => body.response_format.type,
      },
      responses: {
        write: (body, type) => body.text = { format: { type } },
        read: (body) => body.text.format.type,
      },
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "the dialect has none: a sentence of the system prompt asks for it",
      as: () => true,
      read: (body: Body) => /single JSON object/.test(body.system),
    }])),
  },
  {
    name: "schema of the reply",
    fields: "response_format text output_config output_format",
    value: fc.record({ name, description: word, strict: fc.boolean(), schema }),
    in: {
      chat: {
        write: (body, format: Format) =>
          body.response_format = { type: "json_schema", json_schema: format },
        read: (body) => formatOf(body.response_format.json_schema),
      },
      responses: {
        write: (body, format: Format) => body.text = { format: { type: "json_schema", ...format } },
        read: (body) => formatOf(body.text.format),
      },
    },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "a schema has no name there and is always strict; what it is about stands in it",
      as: ({ schema, description }: Format) => ({ ...schema, description }),
      read: (body: Body) => body.output_config.format.schema,
    }])),
  },
  {
    name: "bare schema of the reply",
    fields: "response_format text output_config output_format",
    value: schema,
    in: {
      chat: {
        write: (body, schema) =>
          body.response_format = { type: "json_schema", json_schema: { name: "response", schema } },
        read: (body) => body.response_format.json_schema,
      },
      messages: {
        write: (body, schema) => body.output_config = { format: { type: "json_schema", schema } },
        read: (body) => body.output_config.format.schema,
      },
      responses: {
        write: (body, schema) =>
          body.text = { format: { type: "json_schema", name: "response", schema } },
        read: (body) => body.text.format,
      },
    },
    but: {
      ...Object.fromEntries(["chat chat", "chat responses", "responses chat", "responses responses"]
        .map((pair) => [pair, {
          why: "the row above has it with its name",
          as: (schema: JsonObject) => schema,
          read: (body: Body) => (body.text?.format ?? body.response_format.json_schema).schema,
        }])),
      ...Object.fromEntries(["messages chat", "messages responses"].map((pair) => [pair, {
        why: "a schema needs a name there, and is strict in the client's dialect",
        as: (schema: JsonObject) => ({ name: "response", strict: true, schema }),
        read: (body: Body) => {
          const { type: _, ...own } = body.text?.format ?? body.response_format.json_schema;
          return own;
        },
      }])),
    },
  },
  {
    name: "effort of reasoning",
    fields: "reasoning_effort output_config reasoning",
    value: fc.constantFrom("low", "medium", "high", "xhigh", "max"),
    route: "effort",
    in: {
      chat: at("reasoning_effort"),
      messages: at("output_config", "effort"),
      responses: at("reasoning", "effort"),
    },
  },
  {
    name: "reasoning switched off",
    fields: "thinking reasoning",
    value: fc.constant("off"),
    route: "thinking",
    in: {
      chat: {
        write: (body) => body.thinking = { type: "disabled" },
        read: (body) => body.thinking.type === "disabled" ? "off" : "on",
      },
      messages: {
        write: (body) => body.thinking = { type: "disabled" },
        read: (body) => body.thinking.type === "disabled" ? "off" : "on",
      },
      responses: {
        write: (body) => body.reasoning = { effort: "none" },
        read: (body) => body.reasoning.effort === "none" ? "off" : "on",
      },
    },
    but: Object.fromEntries(
      (["responses chat", "responses messages", "responses responses"] as const).map((pair) => [
        pair,
        { why: "an effort is another word for a switch: the header says so", as: () => "off" },
      ]),
    ),
  },
  {
    name: "id of the end user",
    fields: "safety_identifier",
    value: word,
    in: {
      chat: at("safety_identifier"),
      messages: at("metadata", "user_id"),
      responses: at("safety_identifier"),
    },
    but: {
      "messages chat": { ...PRIVATE, named: ["metadata"] },
      "messages responses": { ...PRIVATE, named: ["metadata"] },
    },
  },
  {
    name: "user",
    fields: "user",
    value: word,
    in: { chat: at("user"), responses: at("user") },
    but: Object.fromEntries(["chat messages", "responses messages"].map((pair) => [pair, {
      why: "the dialect has one field for both",
      as: (user: string) => user,
      read: (body: Body) => body.metadata.user_id,
    }])),
  },
  {
    name: "metadata",
    fields: "metadata",
    value: fc.dictionary(name, word, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    in: { chat: at("metadata"), responses: at("metadata") },
    but: {
      "chat messages": { ...PRIVATE, named: ["metadata"] },
      "chat responses": { ...PRIVATE, named: ["metadata"] },
      "responses chat": { why: `${PRIVATE.why}; the reply repeats it`, silent: true },
      "responses messages": { why: `${PRIVATE.why}; the reply repeats it`, silent: true },
    },
  },
  {
    name: "verbosity",
    fields: "verbosity text",
    value: fc.constantFrom("low", "high"),
    in: { chat: at("verbosity"), responses: at("text", "verbosity") },
    but: {
      "chat messages": { why: "the dialect has none", named: ["verbosity"] },
      "responses messages": { why: "the dialect has none", named: ["text.verbosity"] },
    },
  },
  {
    name: "log probabilities",
    fields: "logprobs top_logprobs include",
    value: fc.integer({ min: 1, max: 20 }),
    in: {
      chat: {
        write: (body, top) => Object.assign(body, { logprobs: true, top_logprobs: top }),
        read: (body) => body.logprobs && body.top_logprobs,
      },
      responses: {
        write: (body, top) =>
          Object.assign(body, {
            include: ["message.output_text.logprobs"],
            top_logprobs: top,
          }),
        read: (body) => body.include.includes("message.output_text.logprobs") && body.top_logprobs,
      },
    },
    but: {
      "chat messages": { why: "the dialect has none", named: ["logprobs", "top_logprobs"] },
      "responses messages": {
        why: "the dialect has none",
        named: ["include.message.output_text.logprobs", "top_logprobs"],
      },
    },
  },
  {
    name: "service tier",
    fields: "service_tier",
    value: fc.constantFrom("flex", "priority"),
    in: { chat: at("service_tier"), responses: at("service_tier") },
    but: {
      "chat messages": { why: "tiers are other ones there", named: ["service_tier"] },
      "responses messages": { why: "tiers are other ones there", named: ["service_tier"] },
    },
  },
  {
    name: "key of the prompt cache",
    fields: "prompt_cache_key",
    value: word,
    shaping: { promptCacheKey: true },
    in: { chat: at("prompt_cache_key"), responses: at("prompt_cache_key") },
    but: {
      "chat messages": { why: "the dialect has none", named: ["prompt_cache_key"] },
      "responses messages": { why: "the dialect has none", silent: true },
      "chat responses": HASHED,
      "responses chat": HASHED,
    },
  },
  {
    name: "how long a prompt is kept in a cache",
    fields: "prompt_cache_retention prompt_cache_options",
    value: fc.constantFrom("24h"),
    in: { chat: at("prompt_cache_retention"), responses: at("prompt_cache_retention") },
    but: Object.fromEntries(
      (["chat messages", "chat responses", "responses messages", "responses chat"] as const)
        .map((pair) => [pair, { ...NO_MARKS, named: ["prompt_cache_retention"] }]),
    ),
  },
  {
    name: "mark for a prompt cache",
    fields: "cache_control messages input",
    value: fc.constant("mark"),
    in: {
      chat: part({
        list: "messages",
        write: () => ({ type: "text", text: "Hi", prompt_cache_breakpoint: { mode: "explicit" } }),
        read: (part) => part.prompt_cache_breakpoint && "mark",
      }),
      messages: part({
        list: "messages",
        write: () => ({ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }),
        read: (part) => part.cache_control && "mark",
      }),
      responses: part({
        list: "input",
        write: () => ({
          type: "input_text",
          text: "Hi",
          prompt_cache_breakpoint: { mode: "explicit" },
        }),
        read: (part) => part.prompt_cache_breakpoint && "mark",
      }),
    },
    but: {
      "messages chat": { ...NO_MARKS, named: ["cache_control"] },
      "messages responses": { ...NO_MARKS, named: ["cache_control"] },
      "chat responses": { ...NO_MARKS, named: ["text.prompt_cache_breakpoint"] },
      "responses chat": { ...NO_MARKS, named: ["input_text.prompt_cache_breakpoint"] },
    },
  },
  {
    name: "storing the reply",
    fields: "store",
    value: fc.constant(true),
    in: { chat: at("store"), responses: at("store") },
    but: {
      "chat messages": { why: "nothing is stored", named: ["store"] },
      "chat responses": { why: "nothing is stored", named: ["store"] },
      "responses chat": { why: "the gateway keeps the items itself", silent: true },
      "responses messages": { why: "the gateway keeps the items itself", silent: true },
      "responses responses": {
        why: "the gateway keeps the items itself",
        as: () => false,
      },
    },
  },
  {
    name: "streaming",
    fields: "stream",
    value: fc.constant(true),
    in: { chat: at("stream"), messages: at("stream"), responses: at("stream") },
  },
  {
    name: "padding of streams",
    fields: "stream_options",
    value: fc.constant(false),
    in: {
      chat: {
        ...at("stream_options", "include_obfuscation"),
        write(body, value) {
          // of a request that is not streamed, it is left out
          Object.assign(body, { stream: true, stream_options: { include_obfuscation: value } });
        },
      },
      responses: at("stream_options", "include_obfuscation"),
    },
    but: Object.fromEntries(
      (["chat messages", "chat responses", "responses messages", "responses chat"] as const)
        .map((pair) => [
          pair,
          pair.startsWith("chat")
            ? {
              why: "the gateway writes the stream, without any",
              named: ["stream_options.include_obfuscation"],
            }
            : { why: "the gateway writes the stream, without any", silent: true as const },
        ]),
    ),
  },
];

/** Fields of the SDKs' requests that are one dialect's own, or that never leave a request alone, and why no row has them. */
export const OWN_FIELDS: Readonly<Record<DialectName, string>> = {
  // audio, several choices, penalties, predictions and the forms before tools are this dialect's alone; `extras_test.ts` has what is priced
  chat:
    "model audio frequency_penalty function_call functions logit_bias modalities moderation n prediction " +
    "presence_penalty seed web_search_options",
  // what the service keeps or runs: `extras_test.ts` has it
  messages:
    "model betas billing_policy compaction container context_management diagnostics fallback_credit_token " +
    "fallbacks inference_geo mcp_servers speed thread user_profile_id workspace_id",
  // what the service keeps or runs, and what a reply only repeats
  responses:
    "model access_programs background context_management conversation image max_tool_calls moderation " +
    "previous_response_id prompt truncation",
};
