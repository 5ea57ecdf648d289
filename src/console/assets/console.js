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

for (const part of document.querySelectorAll("[data-refresh]")) {
  const again = async () => {
    if (!document.hidden) {
      try {
        const reply = await fetch(location.href, { headers: { accept: "text/html" } });
        const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
        const found = fresh.getElementById(part.id);
        if (reply.ok && found !== null) part.replaceChildren(...found.childNodes);
      } catch {
        // the gateway is briefly unreachable
      }
    }
    setTimeout(again, Number(part.dataset.refresh));
  };
  setTimeout(again, Number(part.dataset.refresh));
}
