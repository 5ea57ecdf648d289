/** Examples of the responses dialect for `/openapi.json`, as the gateway writes them. */

const ID = "resp_01a206c4a0b3APh4UYD8GrqynX5t";
const ITEM_ID = "msg_01a206c4a0b3APh4UYD8GrqynX5t_0";
const CREATED_S = 1_795_409_879;
const TEXT = "Hello! How can I help?";

const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });

const message = (status: string, text: string) => ({
  id: ITEM_ID,
  type: "message",
  status,
  role: "assistant",
  content: text === "" ? [] : [part(text)],
});

const USAGE = {
  input_tokens: 6,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 8,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 14,
};

const IN_PROGRESS = {
  id: ID,
  object: "response",
  created_at: CREATED_S,
  status: "in_progress",
  completed_at: null,
  error: null,
  incomplete_details: null,
  model: "svc-k2",
  output: [],
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
  usage: null,
};

/** A whole response. */
export const RESPONSE = {
  ...IN_PROGRESS,
  status: "completed",
  completed_at: CREATED_S + 1,
  output: [message("completed", TEXT)],
  usage: USAGE,
};

const place = { item_id: ITEM_ID, output_index: 0, content_index: 0 };

const EVENTS: readonly (readonly [type: string, more: object])[] = [
  ["response.created", { response: IN_PROGRESS }],
  ["response.in_progress", { response: IN_PROGRESS }],
  ["response.output_item.added", { output_index: 0, item: message("in_progress", "") }],
  ["response.content_part.added", { ...place, part: part("") }],
  ["response.output_text.delta", { ...place, delta: TEXT, logprobs: [] }],
  ["response.output_text.done", { ...place, text: TEXT, logprobs: [] }],
  ["response.content_part.done", { ...place, part: part(TEXT) }],
  ["response.output_item.done", { output_index: 0, item: message("completed", TEXT) }],
  ["response.completed", { response: RESPONSE }],
];

/** The same response as a stream. */
export const RESPONSE_STREAM =
  EVENTS.map(([type, more], at) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...more })}\n\n`
  ).join("") + "data: [DONE]\n\n";

/** A summary of a conversation. */
export const COMPACTION = {
  id: ID,
  object: "response.compaction",
  created_at: CREATED_S,
  output: [{
    id: "cmp_01a206c4a0b3APh4UYD8GrqynX5t_0",
    type: "compaction",
    encrypted_content: "sl1.DCVcd6_agcpCNLRTcdKmm1yZ06qMx8BaRdyX8YIId",
  }],
  usage: USAGE,
};
