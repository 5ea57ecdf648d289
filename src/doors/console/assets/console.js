// Script of all pages: local times, keyboard shortcuts, charts by arrow keys, copy buttons, live parts. Pages work without it.

import { made, plainButton } from "./elements.js";
import { isUtc, preference, showTimes, zone } from "./times.js";

function showZone() {
  const place = document.querySelector("[data-zone]");
  if (place === null || zone === "UTC") return;
  const button = plainButton(isUtc() ? `Show ${zone}` : "Show UTC", () => {
    preference("times", isUtc() ? "local" : "utc");
    showTimes(document);
    showZone();
    place.querySelector("button").focus();
  });
  place.replaceChildren(
    `Times are in ${isUtc() ? "UTC" : zone}; days of usage are UTC days. `,
    button,
  );
}

showTimes(document);
showZone();
if (!isUtc()) {
  for (const field of document.querySelectorAll("[data-reader-zone]")) field.value = zone;
}

// Keyboard: single keys, unless somebody types or switched them off
const letters = new Map();
for (const link of document.querySelectorAll("a[data-letter]")) {
  letters.set(link.dataset.letter, link);
}
const helpButton = document.querySelector("[data-shortcuts]");
let afterG = -Infinity;

function help() {
  let dialog = document.getElementById("shortcuts");
  if (dialog === null) {
    const list = made("dl", { className: "facts" });
    const rows = [["/", "Search or filter"], ["?", "This help"], [
      "← →",
      "Values of a chart that has the focus",
    ]];
    for (const [letter, link] of letters) rows.push([`g ${letter}`, link.textContent]);
    for (const [keys, words] of rows) {
      const all = keys.split(" ").flatMap((key) => [made("kbd", {}, key), " "]);
      list.append(made("dt", {}, ...all), made("dd", {}, words));
    }
    const box = made("input", { type: "checkbox", checked: preference("shortcuts") !== "off" });
    box.addEventListener("change", () => preference("shortcuts", box.checked ? "on" : "off"));
    dialog = made(
      "dialog",
      { id: "shortcuts" },
      made("h2", { id: "shortcuts-title" }, "Keyboard shortcuts"),
      list,
      made("label", {}, box, "Single-key shortcuts"),
      made("form", { method: "dialog" }, made("button", { autofocus: true }, "Close")),
    );
    dialog.setAttribute("aria-labelledby", "shortcuts-title");
    document.body.append(dialog);
  }
  if (!dialog.open) dialog.showModal();
}

if (helpButton !== null) {
  helpButton.hidden = false;
  helpButton.addEventListener("click", help);
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key === "Escape") document.querySelector(".menu[open]")?.removeAttribute("open");
  const isTyping = target.closest?.(
    "input:not([type=checkbox]), select, textarea, [contenteditable]",
  );
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  if (document.querySelector("dialog[open]") !== null || preference("shortcuts") === "off") return;
  const link = event.timeStamp - afterG < 1500 ? letters.get(key) : undefined;
  afterG = -Infinity;
  if (link !== undefined) {
    link.click();
  } else if (key === "g") {
    afterG = event.timeStamp;
  } else if (key === "?") {
    help();
  } else if (key === "/") {
    const search = document.querySelector(
      "main [type=search], main form[method=get] :is(input, select)",
    );
    if (search === null) return;
    const folded = search.closest("details"); // what is folded cannot have the focus
    if (folded !== null) folded.open = true;
    search.focus();
    search.select?.();
  } else return;
  event.preventDefault();
});

// Charts: one stop for the tab key, arrows between the values
for (const values of document.querySelectorAll(".chart .slots")) {
  const slots = [...values.children];
  const choose = (at) => slots.forEach((slot, index) => slot.tabIndex = index === at ? 0 : -1);
  choose(slots.length - 1);
  values.addEventListener("focusin", ({ target }) => {
    if (slots.includes(target)) choose(slots.indexOf(target));
  });
  values.addEventListener("keydown", (event) => {
    const at = slots.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: slots.length - 1 }[event.key];
    if (event.key === "Escape") event.target.blur();
    if (to === undefined || at === -1) return;
    event.preventDefault();
    slots[Math.min(slots.length - 1, Math.max(0, to))].focus();
  });
}

// A message that was read does not come back when the page is loaded again
if (new URLSearchParams(location.search).has("done")) {
  const url = new URL(location.href);
  url.searchParams.delete("done");
  history.replaceState(null, "", url);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    if (navigator.clipboard === undefined) { // not available over plain HTTP: select the text for Ctrl+C
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    } else {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    }
    setTimeout(() => button.textContent = "Copy", 1500);
  });
}

// Filters: results follow what is typed, as the server has them for that address
for (const form of document.querySelectorAll("form[data-filters]")) {
  let asked, timer;
  const follow = async () => {
    asked?.abort();
    asked = new AbortController();
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) {
      if (value !== "") url.searchParams.append(name, value);
    }
    try {
      const reply = await fetch(url, { signal: asked.signal });
      if (!reply.ok || reply.redirected) return form.requestSubmit();
      const found = new DOMParser().parseFromString(await reply.text(), "text/html");
      for (const id of form.dataset.filters.split(" ")) {
        const part = document.getElementById(id);
        part.replaceChildren(...found.getElementById(id).childNodes);
        showTimes(part);
      }
      history.replaceState(null, "", url);
    } catch (error) {
      if (error.name !== "AbortError") form.requestSubmit();
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(follow, 150);
  });
}

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

if (document.querySelector("main form[method=post]") !== null) import("./forms.js");
if (document.querySelector("[data-part]") !== null) import("./live.js");
