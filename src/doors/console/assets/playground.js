// The playground: a conversation with a model by its own key, with what was sent, received and charged.

import { DIALECTS } from "./dialects.js";
import { made } from "./elements.js";
import { inCurl, inJavaScript, inPython, isLong } from "./sdk_code.js";

/** Where the gateway is, which may be below a path of its host. */
const base = new URL("../..", import.meta.url).href.replace(/\/$/, "");
const form = document.getElementById("play");
const shown = (name) => document.getElementById(name);
const button = form.querySelector("button[type=submit]");
const models = form.elements.model;
const options = [...models.options];
/** Exchanges before this one. */
let turns = [];
let key;
let running;
/** What is shown of the request, as a file. */
let file;
/** How often the form has changed. */
let changes = 0;
/** What the server wrote, by what it was asked for. */
const bodies = new Map();

form.hidden = false;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return running.abort();
  running = new AbortController();
  button.textContent = "Stop";
  button.formNoValidate = true; // a form that was changed meanwhile can be stopped
  if (!form.elements.continue.checked) forget();
  for (const name of ["reasoning", "answer", "events", "facts", "use"]) {
    shown(name).textContent = "";
  }
  let exchange;
  try {
    exchange = await exchanged(await requestOf(new FormData(form)), running.signal);
  } catch (error) {
    if (error.name === "AbortError") shown("use").append(" Stopped.");
    else showError(`Request failed: ${error.message}`);
  } finally {
    running = undefined;
    button.textContent = "Send";
    button.formNoValidate = false;
  }
  if (exchange !== undefined && form.elements.continue.checked) keep(exchange);
  showRequest();
});
form.elements.dialect.addEventListener("input", showKind); // before the form's own listener
models.addEventListener("input", showModel);
form.addEventListener("input", showRequest);
shown("restart").addEventListener("click", () => {
  forget();
  for (const name of ["reasoning", "answer", "use"]) shown(name).textContent = "";
  showRequest();
  form.elements.prompt.focus();
});
showKind();
showRequest();

/** Offers the models and fields that the dialect has. */
function showKind() {
  const { kind } = DIALECTS[form.elements.dialect.value];
  const isOffered = (element) => element.dataset.kind === kind;
  models.replaceChildren(...options.filter(isOffered));
  for (const part of form.querySelectorAll("[data-kind]:not(option)")) {
    part.hidden = !isOffered(part);
    // what is hidden is neither sent nor checked
    for (const input of part.querySelectorAll("input, select, textarea")) {
      input.disabled = part.hidden;
    }
  }
  showModel();
}

/** Offers what the model can do. */
function showModel() {
  const { efforts = "", images = "none" } = models.selectedOptions[0]?.dataset ?? {};
  const { effort } = form.elements;
  const levels = efforts === "" ? [] : efforts.split(" ");
  const chosen = effort.value;
  effort.replaceChildren(...["", ...levels].map((level) => new Option(level || "default", level)));
  if (levels.includes(chosen)) effort.value = chosen;
  const { kind } = DIALECTS[form.elements.dialect.value];
  const can = { efforts: levels.length > 0, images: images !== "none" };
  for (const part of form.querySelectorAll("[data-needs]")) {
    part.hidden = part.dataset.kind !== kind || !can[part.dataset.needs];
    for (const input of part.querySelectorAll("input, select")) input.disabled = part.hidden;
  }
}

/** Builds the request from the form. */
async function requestOf(data) {
  const dialect = DIALECTS[data.get("dialect")];
  const image = data.get("image");
  const sent = {
    text: data.get("prompt"),
    picture: image?.size > 0 ? await dataUrlOf(image) : undefined,
  };
  const model = data.get("model") ?? "";
  const body = dialect.event === undefined
    ? { model, input: sent.text }
    : await written(data, model, sent);
  return { dialect, body, sent };
}

/** The server writes where each text goes, not the texts: they stay here, and what is typed changes nothing for it. */
async function written(data, model, last) {
  const texts = [];
  const marked = (text) => `\uE000${texts.push(text) - 1}\uE000`;
  const markedTurn = ({ text, picture }) => ({
    text: marked(text),
    picture: picture?.replace(/(?<=,).*/, marked),
  });
  const asked = JSON.stringify({
    dialect: data.get("dialect"),
    model,
    stream: data.has("stream"),
    system: data.get("system") && marked(data.get("system")),
    turns: (data.has("continue") ? turns : []).map((turn) => ({
      ...markedTurn(turn),
      reply: turn.reply.trim() && marked(turn.reply),
      calls: turn.calls.map(({ id, name, input }) => ({ id, name, args: input || "{}" })),
    })),
    last: markedTurn(last),
    maxTokens: Number(data.get("max_tokens")),
    temperature: data.get("temperature") ? Number(data.get("temperature")) : undefined,
    effort: data.get("effort") || undefined,
    offersTool: data.has("tools"),
  });
  const body = bodies.get(asked) ?? await post("body", { request: asked }, "write the request");
  bodies.set(asked, body);
  return JSON.parse(
    JSON.stringify(body),
    (_, value) =>
      typeof value === "string" ? value.replace(/\uE000(\d+)\uE000/g, (_, at) => texts[at]) : value,
  );
}

/** Asks the console for something. */
async function post(path, fields, what) {
  const reply = await fetch(`${base}/console/playground/${path}`, {
    method: "POST",
    body: new URLSearchParams({ csrf: form.elements.csrf.value, ...fields }),
  });
  // who is signed out is led to the page to sign in
  if (!reply.ok || reply.redirected) throw new Error(`could not ${what}; sign in again`);
  return await reply.json();
}

async function showRequest() {
  const change = ++changes;
  shown("request").ariaBusy = "true";
  let request;
  try {
    request = await requestOf(new FormData(form));
  } catch (error) {
    shown("request").textContent = `Request failed: ${error.message}`;
  }
  if (request === undefined || change !== changes) return; // the form has changed meanwhile
  const { dialect: { path, sdk }, body } = request;
  const text = JSON.stringify(
    body,
    (_, value) =>
      typeof value === "string" && value.length > 300
        ? `${value.slice(0, 60)}… (${value.length} characters)`
        : value,
    2,
  );
  shown("request").textContent = `POST ${path}\n\n${text}`;
  shown("curl").textContent = inCurl(path, body, base);
  shown("sdk").textContent = inJavaScript(sdk, body, base);
  shown("python").textContent = inPython(sdk, body, base);
  shown("request-file").hidden = !isLong(body);
  URL.revokeObjectURL(file);
  file = isLong(body) ? URL.createObjectURL(new Blob([JSON.stringify(body)])) : undefined;
  if (file !== undefined) shown("request-file").querySelector("a").href = file;
  shown("request").ariaBusy = "false";
}

async function dataUrlOf(file) {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Adds an exchange to the conversation. Its reply stays where it was written, until the next one. */
function keep(exchange) {
  turns = [...turns, exchange];
  form.elements.image.value = "";
  showTurns({ isLastBelow: true });
}

function forget() {
  turns = [];
  showTurns();
}

/** Shows the exchanges before this one. */
function showTurns({ isLastBelow = false } = {}) {
  const items = turns.flatMap(({ text, picture, reply, calls }, at) => {
    const isResult = (turns[at - 1]?.calls.length ?? 0) > 0;
    const words = calls.map(({ name, input }) => `\n→ ${name} ${input}`).join("");
    return [
      [isResult ? "Tool result" : "You", picture === undefined ? text : `${text}\n(with an image)`],
      ["Model", `${reply}${words}`.trim()],
    ];
  });
  const elements = (isLastBelow ? items.slice(0, -1) : items)
    .map(([who, what]) => made("li", {}, made("b", {}, who), what));
  shown("turns").replaceChildren(...elements);
  showTurn();
}

/** Says what is typed next: calls are followed by their results. */
function showTurn() {
  const isResult = (turns.at(-1)?.calls.length ?? 0) > 0;
  shown("prompt-label").textContent = isResult ? "Prompt: the tool's result" : "Prompt";
  shown("restart").hidden = turns.length === 0;
}

/** Creates a key for this page, valid for an hour. */
async function ownKey() {
  return key ??= (await post("key", {}, "create a key")).key;
}

/** Sends a request and shows the reply. Returns the exchange if it went well. */
async function exchanged({ dialect, body, sent }, signal) {
  showTurns();
  const started = performance.now();
  const send = async () =>
    await fetch(`${base}${dialect.path}`, {
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
  const view = new ReplyView(started);
  const exchange = () => ({ ...sent, reply: view.text, calls: view.calls });
  if (!reply.headers.get("content-type").startsWith("text/event-stream")) {
    const answer = await reply.json();
    shown("events").textContent = JSON.stringify(answer, null, 2);
    if (!reply.ok) showError(answer.error.message);
    else dialect.whole(answer, view, reply.headers.get("x-sluice-credits"));
    facts();
    if (!reply.ok || dialect.event === undefined) return undefined;
    view.end({
      credits: reply.headers.get("x-sluice-credits"),
      balance: reply.headers.get("x-credits-remaining"),
    });
    return exchange();
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
      if (parsed.error) view.fail(parsed.error.message);
      else dialect.event(parsed, view);
    }
  }
  facts();
  // the headers of a stream are from before it
  const credits = await fetch(`${base}/user/credits?days=1&hours=1`, {
    headers: { authorization: `Bearer ${key}` },
    signal,
  });
  view.end({
    credits: view.hasFailed ? null : await chargeOf(reply.headers.get("request-id"), signal),
    balance: credits.ok ? (await credits.json()).credits_remaining : null,
  });
  return view.hasFailed ? undefined : exchange();
}

/** What a request was charged, by its page: tokens and prices do not say it, as prices change and an upstream's own key pays a part. */
async function chargeOf(requestId, signal) {
  const reply = await fetch(`${base}/console/requests/${requestId}`, { signal });
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  return page.querySelector("[data-charged]")?.dataset.charged ?? null;
}

/** Adds an error to what is shown of the reply. */
function showError(message) {
  shown("answer").append(made("span", { className: "error" }, message));
}

/** Shows a reply as it comes, and adds up what it is made of. */
class ReplyView {
  text = "";
  calls = [];
  hasFailed = false;
  #tokens = {};
  #chars = 0;
  #started;

  constructor(started) {
    this.#started = started;
  }

  add(name, text) {
    shown(name).append(text);
    if (name === "answer") this.text += text;
    this.#count(text);
  }

  call(id, name) {
    this.calls.push({ id, name, input: "" });
    shown("answer").append(`\n→ ${name} `);
  }

  /** Adds to the arguments of the last call. */
  input(text) {
    this.calls.at(-1).input += text;
    shown("answer").append(text);
    this.#count(text);
  }

  fail(message) {
    this.hasFailed = true;
    showError(this.text === "" ? message : `\n${message}`);
  }

  use(tokens) {
    this.#tokens = { ...this.#tokens, ...tokens };
  }

  #count(text) {
    this.#chars += text.length;
    shown("use").textContent = `about ${Math.ceil(this.#chars / 4)} output tokens`;
  }

  end({ credits, balance }) {
    const { input, cached = 0, output } = this.#tokens;
    const number = (value) => Number(value).toLocaleString("en-US");
    const seconds = (performance.now() - this.#started) / 1000;
    shown("use").textContent = [
      ...(input === undefined ? [] : [
        `${number(input)} input tokens${cached > 0 ? ` (${number(cached)} cached)` : ""}`,
        `${number(output)} output tokens`,
      ]),
      ...(credits === null ? [] : [`${number(credits)} credit${Number(credits) === 1 ? "" : "s"}`]),
      ...(balance === null ? [] : [`balance ${number(balance)}`]),
      ...(output > 0 && seconds > 0 ? [`${(output / seconds).toFixed(0)} tokens per second`] : []),
    ].join(" · ");
  }
}
