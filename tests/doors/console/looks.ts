/** What tests of pages look for: programs for the browser, which are written as texts. */

/** Cells that are cut, hidden, or beyond the screen, and numbers that are not aligned. */
export const LOST = `(() => {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  for (const table of document.querySelectorAll(".table table")) {
    if (table.checkVisibility() === false) continue;
    const isCards = getComputedStyle(table).display !== "table";
    const heads = [...table.querySelectorAll("thead th")];
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, at) => {
        const name = cell.dataset.name;
        if (cell.matches(".none") && isCards) return;
        const box = cell.getBoundingClientRect();
        const what = name + ": " + cell.textContent.slice(0, 40);
        if (box.width < 1 || box.height < 1) wrong.push("hidden " + what);
        if (box.left < 0 || box.right > width + 0.5) wrong.push("outside " + what);
        if (cell.scrollWidth > cell.clientWidth + 1) wrong.push("cut " + what);
        if (cell.matches(".number") && !isCards) {
          if (getComputedStyle(cell).textAlign !== "right") wrong.push("not aligned " + what);
          if (Math.abs(heads[at].getBoundingClientRect().right - box.right) > 1) wrong.push("askew " + what);
        }
      });
    }
    for (const name of table.querySelectorAll(".name")) {
      if (name.title !== name.textContent) wrong.push("without its whole text " + name.textContent);
      if (name.querySelector(".end").getBoundingClientRect().right > width) wrong.push("end outside " + name.title);
    }
    if (table.querySelectorAll("tbody tr").length === 0) wrong.push("no rows");
  }
  const over = document.documentElement.scrollWidth - width;
  if (over > 0) wrong.push("the page is wider than the screen by " + over);
  return [...new Set(wrong)].slice(0, 8);
})()`;

/** Room in a cell that its content does not use. */
const ROOM = `(cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const style = getComputedStyle(cell);
  const right = Math.max(0, ...[...range.getClientRects()].map((one) => one.right));
  const left = Math.min(Infinity, ...[...range.getClientRects()].map((one) => one.left));
  return cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - Math.max(0, right - left);
}`;

/** Text that is cut with nothing that shows the whole of it, figures that are hidden, a page that is too wide. */
export const CUT = `(() => {
  const wrong = [];
  const roomIn = ${ROOM};
  const rooms = new Map(); // of the columns of each table
  const freeIn = (table, at) => {
    if (!rooms.has(table)) rooms.set(table, []);
    return rooms.get(table)[at] ??= Math.min(
      ...[...table.rows].map(({ cells }) => cells[at] ? roomIn(cells[at]) : Infinity),
    );
  };
  const width = document.documentElement.clientWidth;
  const over = document.documentElement.scrollWidth - width;
  if (over > 0) wrong.push("the page is wider than the screen by " + over);
  for (const one of document.querySelectorAll("body *")) {
    if (!one.checkVisibility()) continue;
    const { overflowX, clipPath } = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const what = () => one.localName + ": " + one.textContent.trim().slice(0, 40);
    const isClipped = overflowX === "hidden" || overflowX === "clip";
    if (isClipped && clipPath === "none" && one.scrollWidth > one.clientWidth + 1 &&
      one.textContent.trim() !== "" && one.closest("[title]") === null) wrong.push("cut " + what());
    if (one.matches(".table") && one.querySelector("td details[open]") === null && one.scrollWidth > one.clientWidth + 1) {
      wrong.push("beyond its box: " + what());
    }
    if (one.matches(".stat dd:not(.note)") && box.height > 1.8 * parseFloat(getComputedStyle(one).fontSize)) {
      wrong.push("in two lines: " + what());
    }
    if (one.matches("td") && one.scrollWidth > one.clientWidth + 1) wrong.push("beyond its cell " + what());
    if (one.matches("td.figure") && !one.matches(".none") && !(box.width > 0 && box.left >= 0 && box.right <= width + 1)) {
      wrong.push("hidden figure " + what());
    }
    if (one.matches(".name:not(:focus)") && one.firstChild.scrollWidth > one.firstChild.clientWidth + 1) {
      const item = one.closest(".legend li");
      const row = one.closest("tr");
      if (row !== null && getComputedStyle(row).display === "table-row" && box.width < 36 * 16) {
        for (const cell of row.cells) {
          const free = freeIn(row.closest("table"), cell.cellIndex);
          if (free > 64) wrong.push("shortened beside " + Math.round(free) + " px of " + cell.dataset.name + " " + what());
        }
      }
      if (item !== null && box.width < 300 && item.parentElement.clientWidth - item.offsetWidth > 64) {
        wrong.push("shortened in a legend with room " + what());
      }
    }
    if (one.matches("td button") && one.getClientRects().length > 0) {
      if (box.height > 1.9 * parseFloat(getComputedStyle(one).fontSize) * 1.5) wrong.push("a button of two lines " + what());
    }
  }
  return [...new Set(wrong)].slice(0, 8);
})()`;

/** What is wrong with how wide a notice is, where a chart's labels are, and with a field that cuts what was typed. */
export const ASKEW = `(() => {
  const wrong = [];
  const box = (one) => one.getBoundingClientRect();
  const [notice, stats] = ["main > .notice", "main > .stats"].map((css) => document.querySelector(css));
  if (notice && stats && Math.abs(box(notice).right - box(stats).right) > 1) wrong.push("a notice of another width");
  const slots = [...document.querySelectorAll(".chart .slots > li")];
  if (slots.length > 0 && slots.length < 8) {
    for (const slot of slots) {
      const tick = slot.querySelector(".tick");
      const middle = ({ left, right }) => (left + right) / 2;
      if (tick?.checkVisibility() && Math.abs(middle(box(tick)) - middle(box(slot))) > 1) {
        wrong.push("beside its bar: " + tick.textContent);
      }
    }
  }
  const id = document.querySelector("input[name=q]");
  if (id && id.scrollWidth > id.clientWidth) wrong.push("a field cuts " + id.value);
  return wrong;
})()`;

/** Counts how much the parts of a page move while it loads, as `shifts`. */
export const WATCH_SHIFTS = `globalThis.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });`;

/** All that a page loads, uncompressed; what was cached counts, too. */
export const LOADED_BYTES =
  `["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`;

/** Words whose meaning does not open, or not within the screen. */
export const WORDLESS = `(() => {
  const wrong = [];
  const ids = [...document.querySelectorAll(".meaning")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) wrong.push("two meanings of one ID");
  for (const word of document.querySelectorAll(".term")) {
    if (!word.checkVisibility()) continue;
    word.click();
    const open = [...document.querySelectorAll(".meaning:popover-open")];
    if (open.length !== 1) wrong.push("does not open: " + word.textContent);
    for (const one of open) {
      const { left, right } = one.getBoundingClientRect();
      if (left < 0 || right > document.documentElement.clientWidth) wrong.push("beyond the screen: " + word.textContent);
      one.hidePopover();
    }
  }
  return wrong;
})()`;

/** Buttons that do nothing without scripts, although they are shown. */
export const IDLE_BUTTONS = `[...document.querySelectorAll("button")]
  .filter((one) => one.checkVisibility() && one.form === null && !one.hasAttribute("popovertarget"))
  .map((one) => one.textContent.trim())`;

/** Puts figures of billions into tables of usage. */
export const BILLIONS = `for (const cell of document.querySelectorAll("td.number")) {
  const { name } = cell.dataset;
  if (name === "input" || name === "cached") cell.textContent = "10,638,905,789";
  if (name === "output") cell.textContent = "181,482,229";
  if (name === "change") cell.textContent = "+140,033.3\u00a0%";
}`;

/**
 * Leaves two of all rows, items, options and labels beside each other that differ in nothing but texts and values: a check
 * of how they are made finds the same, in a fraction of the time.
 */
export const PRUNE = `{
  const seen = new Map();
  for (const one of document.querySelectorAll("tr, li, option, label")) {
    const shape = one.outerHTML.replace(/>[^<]+/g, ">").replace(/ (?!class|role|type)([a-z-]+)="[^"]*"/g, " $1");
    if (!seen.has(one.parentElement)) seen.set(one.parentElement, new Map());
    const shapes = seen.get(one.parentElement);
    const count = (shapes.get(shape) ?? 0) + 1;
    shapes.set(shape, count);
    if (count > 2) one.remove();
  }
}`;

/** Opens everything that can be folded. */
export const UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true";

/** Adds rules to a page, in place of those that were added before. */
export function withRules(rules: string): string {
  return `{
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(${JSON.stringify(rules)});
    document.adoptedStyleSheets = [sheet];
  }`;
}
