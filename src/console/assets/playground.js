// The playground: sends a request with its own key and shows the whole response.

const form = document.getElementById("play");
const shown = (name) => document.getElementById(name);
const button = form.querySelector("button[type=submit]");
let key;
let running;

form.hidden = false;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return running.abort();
  running = new AbortController();
  button.textContent = "Stop";
  for (const name of ["reasoning", "answer", "events", "facts"]) shown(name).textContent = "";
  try {
    await ask(await requestOf(new FormData(form)), running.signal);
  } catch (error) {
    if (error.name !== "AbortError") {
      shown("answer").textContent = `Request failed: ${error.message}`;
    }
  } finally {
    running = undefined;
    button.textContent = "Send";
  }
});
form.addEventListener("input", async () => show(await requestOf(new FormData(form))));
show(await requestOf(new FormData(form)));

/** Builds the request from the form. */
async function requestOf(data) {
  const chat = data.get("dialect") === "chat";
  const image = data.get("image");
  const picture = image?.size > 0 ? await base64Of(image) : undefined;
  const text = data.get("prompt");
  const content = picture === undefined ? text : chat
    ? [{ type: "text", text }, {
      type: "image_url",
      image_url: { url: `data:${image.type};base64,${picture}` },
    }]
    : [
      { type: "image", source: { type: "base64", media_type: image.type, data: picture } },
      { type: "text", text },
    ];
  const system = data.get("system");
  const body = {
    model: data.get("model"),
    stream: data.has("stream"),
    max_tokens: Number(data.get("max_tokens")),
  };
  const tool = {
    name: "get_weather",
    description: "The weather at a place",
    schema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  };
  if (chat) {
    body.messages = [...(system ? [{ role: "system", content: system }] : []), {
      role: "user",
      content,
    }];
    if (data.has("tools")) {
      body.tools = [{
        type: "function",
        function: { name: tool.name, description: tool.description, parameters: tool.schema },
      }];
    }
  } else {
    if (system) body.system = system;
    body.messages = [{ role: "user", content }];
    if (data.has("tools")) {
      body.tools = [{ name: tool.name, description: tool.description, input_schema: tool.schema }];
    }
  }
  return { chat, path: chat ? "/v1/chat/completions" : "/v1/messages", body };
}

function show({ path, body, chat }) {
  const text = JSON.stringify(
    body,
    (_, value) =>
      typeof value === "string" && value.length > 300
        ? `${value.slice(0, 60)}… (${value.length} characters)`
        : value,
    2,
  );
  shown("request").textContent = `POST ${path}\n\n${text}`;
  const whole = JSON.stringify(body).replaceAll("'", "'\\''");
  shown("curl").textContent =
    `curl ${location.origin}${path} \\\n  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n` +
    `  -H 'Content-Type: application/json' \\\n  -d '${
      whole.length > 4000 ? "@request.json" : whole
    }'`;
  const { stream, ...rest } = body;
  shown("sdk").textContent = chat
    ? `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${location.origin}/v1" });\n` +
      `const answer = await client.chat.completions.create(${short(stream ? body : rest)});`
    : `import Anthropic from "@anthropic-ai/sdk";\n\nconst client = new Anthropic({ baseURL: "${location.origin}" });\n` +
      `const answer = await client.messages.create(${short(stream ? body : rest)});`;
}

function short(body) {
  return JSON.stringify(
    body,
    (_, value) =>
      typeof value === "string" && value.length > 300 ? `${value.slice(0, 60)}…` : value,
    2,
  );
}

async function base64Of(file) {
  const address = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return address.slice(address.indexOf(",") + 1);
}

/** Creates a key for this page, valid for an hour. */
async function ownKey() {
  if (key !== undefined) return key;
  const reply = await fetch("/console/playground/key", {
    method: "POST",
    body: new URLSearchParams({ csrf: form.elements.csrf.value }),
  });
  if (!reply.ok) throw new Error("could not create a key; sign in again");
  return key = (await reply.json()).key;
}

async function ask({ path, body, chat }, signal) {
  const started = performance.now();
  const send = async () =>
    await fetch(path, {
      method: "POST",
      headers: { authorization: `Bearer ${await ownKey()}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  let reply = await send();
  if (reply.status === 401) { // the key has expired
    key = undefined;
    reply = await send();
  }
  const facts = () => {
    const told = [
      "x-request-id",
      "x-credits-remaining",
      "x-sluice-credits",
      "x-sluice-upstream",
      "x-sluice-ignored",
      "x-sluice-adjusted",
    ];
    shown("facts").textContent = [
      `${reply.status}`,
      `${Math.round(performance.now() - started)} ms`,
      ...told.flatMap((name) =>
        reply.headers.has(name) ? [`${name}: ${reply.headers.get(name)}`] : []
      ),
    ].join("\n");
  };
  facts();
  if (!reply.headers.get("content-type").startsWith("text/event-stream")) {
    const answer = await reply.json();
    shown("events").textContent = JSON.stringify(answer, null, 2);
    if (!reply.ok) shown("answer").textContent = answer.error.message;
    else if (chat) messageOf(answer.choices[0].message);
    else for (const block of answer.content) blockOf(block);
    return facts();
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    waiting += value;
    const events = waiting.split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      shown("events").append(`${event}\n\n`);
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined || data === "[DONE]") continue;
      const parsed = JSON.parse(data);
      if (parsed.error) add("answer", `\n${parsed.error.message}`);
      else if (chat) messageOf(parsed.choices?.[0]?.delta ?? {});
      else if (parsed.type === "content_block_start") blockOf(parsed.content_block);
      else if (parsed.type === "content_block_delta") blockOf(parsed.delta);
    }
  }
  facts();
}

function messageOf({ content, reasoning_content, tool_calls }) {
  if (reasoning_content) add("reasoning", reasoning_content);
  if (content) add("answer", content);
  for (const call of tool_calls ?? []) {
    if (call.function?.name) add("answer", `\n→ ${call.function.name} `);
    if (call.function?.arguments) add("answer", call.function.arguments);
  }
}

function blockOf({ text, thinking, name, input, partial_json }) {
  if (thinking) add("reasoning", thinking);
  if (text) add("answer", text);
  if (name) {
    add(
      "answer",
      `\n→ ${name} ${Object.keys(input ?? {}).length > 0 ? JSON.stringify(input) : ""}`,
    );
  }
  if (partial_json) add("answer", partial_json);
}

function add(name, text) {
  shown(name).append(text);
}
