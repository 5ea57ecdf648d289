import { assert, assertEquals } from "../assert.ts";
import type { Check } from "./checks.ts";
import { connect } from "./response_socket.ts";
import { conform, conformingEvents } from "./responses_checks.ts";
import { socketError } from "./responses_schema.ts";
import { type Json, says, send, type Target } from "./target.ts";

const NOT_FOUND = "previous_response_not_found";

const request = (target: Target, text: string, more = {}) => ({
  model: target.models.responses,
  store: false,
  input: says(text),
  ...more,
});

/** Holds a turn against an error with this code. */
function failsWith(frames: readonly Json[], code?: string): void {
  const last = frames.at(-1);
  if (code !== undefined || last.type === "error") conform(socketError, last);
  else assertEquals(last.type, "response.failed");
  if (code !== undefined) assertEquals(last.error.code, code);
}

/**
 * What clients of `GET /v1/responses` as a WebSocket rely on. Those with a name in front ask what the Open Responses compliance
 * suite asks under that name.
 */
export const responseSocketChecks: readonly Check[] = [
  {
    holds: "websocket-response: frames are the events of a response, one in each",
    async run(target) {
      await using socket = await connect(target);
      conformingEvents(target, await socket.turn(request(target, "Say hello.")));
    },
  },
  {
    holds: "websocket-sequential-responses: a connection takes one request after the other",
    async run(target) {
      await using socket = await connect(target);
      const ids = [];
      for (const text of ["One.", "Two.", "Three."]) {
        ids.push(conformingEvents(target, await socket.turn(request(target, text))).id);
      }
      assertEquals(new Set(ids).size, 3);
    },
  },
  {
    holds: "websocket-continuation: previous_response_id continues a response of the connection",
    async run(target) {
      await using socket = await connect(target);
      const first = conformingEvents(target, await socket.turn(request(target, "I am Alice.")));
      const more = { previous_response_id: first.id };
      const second = conformingEvents(
        target,
        await socket.turn(request(target, "Who am I?", more)),
      );
      assertEquals(second.previous_response_id, first.id);
      assert(second.usage.input_tokens > first.usage.input_tokens, "the conversation is sent");
    },
  },
  {
    holds:
      "websocket-reconnect-store-false-recovery: another connection knows it no more, and goes on",
    async run(target) {
      let id = "";
      {
        await using socket = await connect(target);
        ({ id } = conformingEvents(target, await socket.turn(request(target, "Hello."))));
      }
      await using socket = await connect(target);
      const more = { previous_response_id: id };
      failsWith(await socket.turn(request(target, "Go on.", more)), NOT_FOUND);
      conformingEvents(target, await socket.turn(request(target, "Go on, then.")));
    },
  },
  {
    holds: "websocket-previous-response-not-found: an id that nobody gave has a code of its own",
    async run(target) {
      await using socket = await connect(target);
      const more = { previous_response_id: `resp_${crypto.randomUUID().replaceAll("-", "")}` };
      failsWith(await socket.turn(request(target, "Go on.", more)), NOT_FOUND);
    },
  },
  {
    holds: "websocket-failed-continuation-evicts-cache: what failed to go on cannot be continued",
    async run(target) {
      await using socket = await connect(target);
      const { id } = conformingEvents(target, await socket.turn(request(target, "Hello.")));
      const more = { previous_response_id: id };
      const output = { type: "function_call_output", call_id: "call_unknown", output: "x" };
      failsWith(await socket.turn({ ...request(target, "", more), input: [output] }));
      failsWith(await socket.turn(request(target, "Go on.", more)), NOT_FOUND);
    },
  },
  {
    holds: "websocket-compact-new-chain: a compacted conversation goes on over a connection",
    async run(target) {
      const { status, json } = await send(target, "/v1/responses/compact", {
        body: { model: target.models.responses, input: says("The launch code is 42.") },
      });
      assertEquals(status, 200);
      await using socket = await connect(target);
      const input = [...json.output, ...says("What is the code?")];
      conformingEvents(target, await socket.turn(request(target, "", { input, tools: [] })));
    },
  },
];
