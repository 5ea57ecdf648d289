// Script of all pages: copy buttons, confirmation of destructive forms, live updates.

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

for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// a tab that nobody looks at has no connection: browsers open six of them to a host
for (const part of document.querySelectorAll("[data-live]")) {
  let events;
  const follow = () => {
    events?.close();
    if (document.hidden) return;
    events = new EventSource(location.href);
    events.onmessage = ({ data }) => part.innerHTML = data;
    events.onerror = () => events.readyState === EventSource.CLOSED && setTimeout(follow, 5000);
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}
