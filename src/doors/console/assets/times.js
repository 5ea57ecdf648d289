// Times in the reader's zone: the server writes UTC, in the same format, so that nothing moves.

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const preferences = new Map();

/** Reads or writes what the reader prefers; a browser that stores nothing keeps it until the next page. */
export function preference(name, value) {
  if (value !== undefined) preferences.set(name, value);
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return preferences.get(name);
  }
}

/** The reader's zone. */
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "local time";
/** Whether times are shown in UTC. */
export const isUtc = () => zone === "UTC" || preference("times") === "utc";

/** Shows the times below an element in the reader's zone. */
export function showTimes(root) {
  const pad = (value) => String(value).padStart(2, "0");
  for (const time of root.querySelectorAll("time[data-show]")) {
    const at = new Date(time.dateTime);
    const shifted = isUtc() ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
    const day = `${shifted.getUTCDate()} ${
      MONTHS[shifted.getUTCMonth()]
    } ${shifted.getUTCFullYear()}`;
    const full = `${day}, ${
      [shifted.getUTCHours(), shifted.getUTCMinutes(), shifted.getUTCSeconds()].map(pad).join(":")
    }`;
    time.dataset.utc ??= time.title;
    time.title = isUtc() ? time.dataset.utc : `${full} ${zone} (${time.dataset.utc})`;
    if (time.dataset.show !== "title") time.textContent = time.dataset.show === "day" ? day : full;
  }
}
