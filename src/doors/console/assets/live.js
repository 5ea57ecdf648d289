// Live parts of pages, by one event stream, while the page is visible. Loaded by console.js where a page has such parts.

import { made, plainButton } from "./elements.js";
import { showTimes } from "./times.js";

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
  const stream = new EventSource(new URL(`../events?${query}`, import.meta.url));
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

/** Says which element of a part this is, in words that its next version has, too. */
function keyOf(element) {
  if (element.id !== "" && !element.hasAttribute("popover")) return `#${element.id}`;
  return JSON.stringify([
    element.localName,
    element.closest("[data-row]")?.dataset.row,
    element.closest("form")?.getAttribute("action"),
    element.getAttribute("href"),
    element.getAttribute("name"),
    element.getAttribute("aria-label") ?? element.title ?? "",
    element.matches("a[href], [name]") ? "" : element.textContent.trim(),
  ]);
}

/** The elements of a part that can have the focus and have a key. */
function keyed(part, key) {
  const all = part.querySelectorAll(
    "a[href], button, summary, [tabindex], input, select, textarea",
  );
  return [...all].filter((one) => keyOf(one) === key);
}

/** Finds the element of a part that has a key; where several have it, the one at the same place among them. */
function findKey(part, { key, at }) {
  const same = keyed(part, key);
  return same[at] ?? same[0];
}

/** The key of an element, and its place among those of the same key. */
function placeOf(part, element) {
  const key = keyOf(element);
  const same = keyed(part, key);
  return { key, at: same.indexOf(element) };
}

/** Shows what waited for somebody to end typing, once the focus has arrived elsewhere. */
function showPending({ currentTarget: part }) {
  part.removeEventListener("focusout", showPending);
  setTimeout(() => part.pending !== undefined && replace(part, part.pending));
}

/** Shows a new version of a part: what is open and what has the focus stay so, and nobody is interrupted who types. */
function replace(part, html) {
  const active = part.contains(document.activeElement) ? document.activeElement : undefined;
  if (active?.matches("input, select, textarea")) {
    part.pending = html;
    part.addEventListener("focusout", showPending);
    return;
  }
  part.pending = undefined;
  const focused = active && active !== part ? placeOf(part, active) : undefined;
  const opened = [...part.querySelectorAll("details[open] > summary")]
    .map((summary) => placeOf(part, summary));
  const meanings = [...part.querySelectorAll("[popovertarget]")]
    .filter(({ popoverTargetElement: one }) => one?.matches(":popover-open"))
    .map((button) => placeOf(part, button));
  part.innerHTML = html;
  showTimes(part);
  for (const place of opened) {
    const details = findKey(part, place)?.closest("details");
    if (details) details.open = true;
  }
  for (const place of meanings) findKey(part, place)?.popoverTargetElement?.showPopover();
  if (focused === undefined) return;
  const next = findKey(part, focused) ?? part;
  if (next === part) part.tabIndex = -1; // what had the focus is gone: the next stop is the one behind it
  next.focus({ preventScroll: true });
}

/** Puts rows where they belong by their IDs, which begin with their times. */
async function addRows(part, html) {
  if (part.querySelector("tbody") === null) { // the first ones: the page has no table yet
    const page = new DOMParser().parseFromString(
      await (await fetch(location.href)).text(),
      "text/html",
    );
    for (const place of [`[data-part="${part.dataset.part}"]`, "[data-older]"]) {
      const fresh = page.querySelector(place);
      if (fresh !== null) document.querySelector(place)?.replaceChildren(...fresh.childNodes);
    }
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
  const pages = document.querySelector("[data-older]");
  while (body.rows.length > MAX_ROWS) {
    const last = body.rows[body.rows.length - 1];
    if (last.contains(document.activeElement)) break;
    last.remove();
    if (pages.querySelector("a") === null) pages.append(made("a", {}, "Older requests"));
  }
  const older = pages.querySelector("a");
  if (older !== null && body.rows.length > 0) {
    const last = body.rows[body.rows.length - 1];
    const atMs = Date.parse(last.querySelector("time").dateTime);
    older.href = `?before=${atMs}.${last.dataset.row}`;
  }
}

const button = plainButton("Pause live updates", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Resume live updates" : "Pause live updates";
  follow();
});
document.querySelector("footer")?.append(button);

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", stop);
addEventListener("pageshow", ({ persisted }) => persisted && follow());
follow();
