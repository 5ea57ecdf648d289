/** Events about the response and its items that SDKs know; the OpenAI SDK throws on any other. */
const CARRIED =
  /^response\.(?:queued|created|in_progress|completed|incomplete|output_item\.(?:added|done)|content_part\.(?:added|done)|output_text\.(?:delta|done|annotation\.added)|refusal\.(?:delta|done)|reasoning_text\.(?:delta|done)|reasoning_summary_(?:part\.(?:added|done)|text\.(?:delta|done))|function_call_arguments\.(?:delta|done)|custom_tool_call_input\.(?:delta|done)|file_search_call\.(?:in_progress|searching|completed)|web_search_call\.(?:in_progress|searching|completed)|code_interpreter_call\.(?:in_progress|interpreting|completed)|code_interpreter_call_code\.(?:delta|done)|image_generation_call\.(?:in_progress|generating|partial_image|completed)|mcp_call\.(?:in_progress|completed|failed)|mcp_call_arguments\.(?:delta|done)|mcp_list_tools\.(?:in_progress|completed|failed))$/;

/** Whether an upstream's event goes on to the client. What does not is not charged. */
export function isCarriedEvent(type: string): boolean {
  return CARRIED.test(type);
}

/** Whether an event only says that the response has begun. */
export function isBeginning(type: string): boolean {
  return /^response\.(?:queued|created|in_progress)$/.test(type);
}
