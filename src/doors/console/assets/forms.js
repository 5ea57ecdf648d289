// Script of pages with forms: what was typed into one stays when it is rejected, and the message is where it was typed.

const POSTED = "posted";
/** Types of fields that are not kept. */
const SECRET = ["password", "file"];

/** Reads what was posted last, once; null if nothing was, or the browser stores nothing. */
function takePosted() {
  try {
    const posted = JSON.parse(sessionStorage.getItem(POSTED));
    sessionStorage.removeItem(POSTED);
    return posted;
  } catch {
    return null;
  }
}

/** Fills a form with what was posted. */
function refill(form, entries) {
  const values = Map.groupBy(entries, ([name]) => name);
  for (const field of form.elements) {
    const given = values.get(field.name) ?? [];
    const isGiven = (value) => given.some(([, one]) => one === value);
    if (field.type === "checkbox" || field.type === "radio") field.checked = isGiven(field.value);
    else if (field.type === "select-multiple") {
      for (const option of field.options) option.selected = isGiven(option.value);
    } else if (given.length > 0 && field.type !== "hidden") {
      [, field.value] = given.shift();
    }
  }
}

document.addEventListener("submit", ({ target: form, defaultPrevented }) => {
  if (defaultPrevented || form.method !== "post") return;
  const kept = [...form.elements].filter(({ type }) => !SECRET.includes(type));
  const names = new Set(kept.map(({ name }) => name).filter((name) => name !== "csrf"));
  const entries = [...new FormData(form)].filter(([name]) => names.has(name));
  try {
    sessionStorage.setItem(
      POSTED,
      JSON.stringify({ path: new URL(form.action).pathname, entries }),
    );
  } catch {
    // then it is empty after an error
  }
});

// who ticks a model means that one
document.addEventListener("change", ({ target: { name, checked, form } }) => {
  if (name !== "models" || !checked) return;
  const listed = form.querySelector("[name=allow][value=listed]");
  if (listed !== null) listed.checked = true;
});

const posted = takePosted();
const rejection = document.querySelector("main > .notice.bad:has([role=status])");
if (posted?.path === location.pathname && rejection !== null) {
  // of several forms with one address, that with the same hidden fields
  const isSame = ({ name, value, type }) =>
    type === "hidden" && posted.entries.some(([other, one]) => other === name && one === value);
  const [form] = [...document.querySelectorAll("main form[method=post]")]
    .filter(({ action }) => new URL(action).pathname === posted.path)
    .map((one) => ({ one, same: [...one.elements].filter(isSame).length }))
    .sort((a, b) => b.same - a.same)
    .map(({ one }) => one);
  if (form !== undefined) {
    refill(form, posted.entries);
    for (let one = form.closest("details"); one; one = one.parentElement.closest("details")) {
      one.open = true;
    }
    form.prepend(rejection);
    rejection.scrollIntoView({ block: "center" });
  }
}
