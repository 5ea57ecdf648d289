import {
  fillReferences,
  findReferences,
} from "../../../src/wire/dialects/responses/request/references.ts";
import { assertEquals } from "../../assert.ts";

const message = { type: "message", role: "assistant", id: "msg_1", content: "Hello" };

Deno.test("items that refer to others are found, with a type or only by their ID", () => {
  const input = [
    { type: "item_reference", id: "msg_1" },
    { id: "rs_1" },
    { type: null, id: "fc_1" },
    message,
    { id: "msg_2", role: "assistant", content: "Hi" },
    { type: "message", id: "msg_3" },
    { type: "item_reference", id: 7 },
    { type: "item_reference" },
    {},
    null,
    "msg_4",
    [{ id: "msg_5" }],
  ];
  assertEquals(findReferences({ input }), ["msg_1", "rs_1", "fc_1"]);
  for (const body of [undefined, null, 7, "x", [], {}, { input: "x" }, { input: null }]) {
    assertEquals(findReferences(body), []);
  }
});

Deno.test("known items take the places of references; what is unknown stays, and so does the body", () => {
  const body = {
    model: "m",
    input: [{ id: "msg_1" }, { id: "msg_2" }, { type: "item_reference", id: "msg_1" }, "x"],
  };
  const before = structuredClone(body);
  const known = new Map([["msg_1", message], ["__proto__", message]]);
  assertEquals<unknown>(fillReferences(body, known), {
    model: "m",
    input: [message, { id: "msg_2" }, { type: "item_reference", id: "msg_1" }, "x"],
  });
  assertEquals(body, before);
  assertEquals(fillReferences(body, new Map()), body);
  assertEquals(fillReferences("x", known), "x");
});
