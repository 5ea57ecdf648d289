import {
  withoutThinkingOfDashScope,
  withoutThinkingOfDeepSeek,
} from "../../../../src/requests/upstreams/quirks/forced_tools.ts";
import { check } from "./check.ts";

const named = { tool_choice: { type: "function", function: { name: "f" } } };
const forced = { tool_choice: "required" };

Deno.test("deepseek: thinking is off where a tool is forced, and the choice is free with a model that always thinks (table)", () => {
  const off = { thinking: { type: "disabled" } };
  const on = { thinking: { type: "enabled" } };
  check(withoutThinkingOfDeepSeek, [
    [{ ...on, tool_choice: "auto" }],
    [{ ...on, tool_choice: null }],
    [on],
    [{ ...forced, ...off }],
    [{ ...named, ...off }],
    [{ ...forced, model: "chat" }, { ...forced, model: "chat", ...off }],
    [named, { ...named, ...off }],
    [{ ...forced, ...on }, { ...forced, ...off }, "thinking=disabled"],
    [{ ...forced, thinking: "disabled" }, { ...forced, ...off }, "thinking=disabled"],
    [{ ...forced, thinking: null }, { ...forced, ...off }],
    [{ ...named, reasoning_effort: "high" }, { ...named, ...off }, "thinking=disabled"],
    [
      { ...forced, ...on, model: "deepseek-reasoner" },
      { tool_choice: "auto", ...on, model: "deepseek-reasoner" },
      "tool_choice=auto",
    ],
  ]);
});

Deno.test("dashscope: the same, by its own fields and models (table)", () => {
  const off = { enable_thinking: false };
  check(withoutThinkingOfDashScope, [
    [{ enable_thinking: true, tool_choice: "none" }],
    [{ ...forced, ...off }],
    [forced, { ...forced, ...off }],
    [{ ...forced, enable_thinking: null }, { ...forced, ...off }],
    [
      { ...named, enable_thinking: true, thinking_budget: 9 },
      { ...named, ...off },
      "thinking=disabled",
    ],
    [{ ...named, model: "QwQ-32B" }, { tool_choice: "auto", model: "QwQ-32B" }, "tool_choice=auto"],
  ]);
});
