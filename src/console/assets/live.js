// Live parts of pages, by one event stream, while the page is visible. Loaded by console.js where a page has such parts.

import { showTimes } from "./console.js";

/** Rows that a table grows to. */
const MAX_ROWS = 200;
const AGAIN_MS = 10_000;

const parts = [...document.querySelectorAll("[data-part]")];
let seen = document.querySelector("[data-seen]")?.dataset.seen;
let events;
let timer;
let isPaused = false;

function stop() {
  clearTimeout(timer);
  events?.close();
  events = undefined;
}

/** Follows the events; a page that nobody looks at has no connection: browsers open six of them to a host. */
function follow() {
  stop();
  if (document.hidden || isPaused) return;
  const query = new URLSearchParams(parts.map((part) => ["part", part.dataset.part]));
  if (seen !== undefined) query.set("seen", seen);
  const stream = new EventSource(`/console/events?${query}`);
  events = stream;
  for (const part of parts) {
    stream.addEventListener(part.dataset.part, ({ data, lastEventId }) => {
      if (lastEventId !== "") seen = lastEventId;
      if (part.dataset.rows === undefined) replace(part, data);
      else addRows(part, data);
    });
  }
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED && stream === events) {
      timer = setTimeout(again, AGAIN_MS);
    }
  };
}

/** The gateway may have been restarted: it knows the parts of the page once it has served it. */
async function again() {
  try {
    const reply = await fetch(location.href);
    if (reply.redirected || reply.status === 404) return; // signed out, or no longer allowed
  } catch {
    // not there yet
  }
  follow();
}

/** Shows a new version of a part, but not under somebody's fingers. */
function replace(part, html) {
  if (part.contains(document.activeElement)) {
    part.pending = html;
    part.onfocusout ??= () => {
      part.onfocusout = null;
      replace(part, part.pending);
    };
    return;
  }
  part.innerHTML = html;
  showTimes(part);
}

/** Puts rows where they belong by their IDs, which begin with their times. */
async function addRows(part, html) {
  if (part.querySelector("tbody") === null) { // the first ones: the page has no table yet
    const page = new DOMParser().parseFromString(
      await (await fetch(location.href)).text(),
      "text/html",
    );
    const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (fresh !== null) part.replaceChildren(...fresh.childNodes);
    showTimes(part);
    return;
  }
  const body = part.querySelector("tbody");
  const template = document.createElement("template");
  template.innerHTML = html;
  showTimes(template.content);
  const isFull = () => body.rows.length >= MAX_ROWS;
  for (const row of [...template.content.children]) {
    const next = [...body.rows].find(({ dataset }) => dataset.row <= row.dataset.row);
    if (next?.dataset.row === row.dataset.row) continue;
    if (next === undefined && isFull()) continue;
    body.insertBefore(row, next ?? null);
  }
  const older = document.querySelector("[data-older] a");
  while (body.rows.length > MAX_ROWS) body.rows[body.rows.length - 1].remove();
  if (older !== null && body.rows.length > 0) {
    const last = body.rows[body.rows.length - 1];
    const atMs = Date.parse(last.querySelector("time").dateTime);
    older.href = `?before=${atMs}.${last.dataset.row}`;
  }
}

const button = document.createElement("button");
button.type = "button";
button.className = "plain";
button.textContent = "Pause live updates";
button.addEventListener("click", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Resume live updates" : "Pause live updates";
  follow();
});
document.querySelector("footer")?.append(button);

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", stop);
addEventListener("pageshow", ({ persisted }) => persisted && follow());
follow();
