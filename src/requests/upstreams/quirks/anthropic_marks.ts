import { type JsonObject, type JsonValue, objects } from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";

/** Marks of a request; one on the request itself is one of them. */
const MAX_MARKS = 4;

/**
 * The last four marks of a prompt, as each covers what the ones before it cover.
 *
 * Source: `A maximum of 4 blocks with cache_control may be provided. Found 5.`: Wei-Shaw/sub2api#176.
 */
export const withFewMarks: Adjust = (body, note) => {
  const isMarked = ({ cache_control: mark }: JsonObject) => (mark ?? undefined) !== undefined;
  const contents = objects(body.messages).map(({ content }) => content);
  // in the order of a prompt; results of tools have blocks of their own, which come before their end
  const blocks = [body.tools, body.system, ...contents].flatMap(objects)
    .flatMap((block) => [...objects(block.content), block]);
  const marked = blocks.filter(isMarked);
  const most = isMarked(body) ? MAX_MARKS - 1 : MAX_MARKS;
  if (marked.length <= most) return body;
  note(`cache_control=${most} of ${marked.length}`);
  const left = new Set(marked.slice(0, marked.length - most));
  const without = (value: JsonValue | undefined): JsonValue | undefined =>
    Array.isArray(value)
      ? value.map((one) => {
        const block = one as JsonObject;
        const { cache_control: _, ...rest } = block;
        const own = left.has(block) ? rest : block;
        return Array.isArray(own?.content) ? { ...own, content: without(own.content)! } : own;
      })
      : value;
  const messages = objects(body.messages)
    .map((message): JsonObject => ({ ...message, content: without(message.content) ?? null }));
  return {
    ...body,
    ...(body.tools !== undefined && { tools: without(body.tools)! }),
    ...(body.system !== undefined && { system: without(body.system)! }),
    messages,
  };
};
