// The playground: sends a request with its own key and shows the whole response.

import { DIALECTS } from "./dialects.js";
import { inJavaScript, inPython } from "./sdk_code.js";

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
  const dialect = DIALECTS[data.get("dialect")];
  const image = data.get("image");
  const body = {
    model: data.get("model"),
    stream: data.has("stream"),
    ...dialect.body({
      system: data.get("system"),
      text: data.get("prompt"),
      picture: image?.size > 0 ? { type: image.type, base64: await base64Of(image) } : undefined,
      maxTokens: Number(data.get("max_tokens")),
      offersTool: data.has("tools"),
    }),
  };
  return { dialect, body };
}

function show({ dialect, body }) {
  const { path } = dialect;
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
  shown("sdk").textContent = inJavaScript(dialect.sdk, body, location.origin);
  shown("python").textContent = inPython(dialect.sdk, body, location.origin);
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

async function ask({ dialect, body }, signal) {
  const started = performance.now();
  const send = async () =>
    await fetch(dialect.path, {
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
    else dialect.whole(answer, add);
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
      else dialect.event(parsed, add);
    }
  }
  facts();
}

function add(name, text) {
  shown(name).append(text);
}
