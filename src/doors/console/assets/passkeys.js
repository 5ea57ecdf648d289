// Script of pages with passkeys: asks the browser for one, and sends what it says by the page's form.

/** A challenge is valid for five minutes; one that waits in a field is replaced before. */
const RENEW_MS = 240_000;

const toBytes = (text) =>
  Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")),
    (char) => char.charCodeAt(0),
  );
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

async function optionsFor(form) {
  const reply = await fetch(`${form.action}/options`, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
  });
  const type = reply.headers.get("content-type") ?? "";
  // signed out meanwhile: the page that is loaded says so
  if (reply.redirected || !type.startsWith("application/json")) return location.reload();
  const options = await reply.json();
  if (!reply.ok) throw new Error(options.error);
  options.challenge = toBytes(options.challenge);
  for (const named of [options.user, ...options.excludeCredentials ?? []]) {
    if (named !== undefined) named.id = toBytes(named.id);
  }
  return options;
}

/** What the browser says of a passkey, with bytes as base64url. */
const WAYS = {
  async create(publicKey, more) {
    const { rawId, response } = await navigator.credentials.create({ publicKey, ...more });
    const key = response.getPublicKey();
    if (key === null) {
      throw new Error("The authenticator makes keys of a kind that is not accepted.");
    }
    return {
      id: toText(rawId),
      clientData: toText(response.clientDataJSON),
      authenticatorData: toText(response.getAuthenticatorData()),
      publicKey: toText(key),
      algorithm: response.getPublicKeyAlgorithm(),
    };
  },
  async get(publicKey, more) {
    const { rawId, response } = await navigator.credentials.get({ publicKey, ...more });
    return {
      id: toText(rawId),
      clientData: toText(response.clientDataJSON),
      authenticatorData: toText(response.authenticatorData),
      signature: toText(response.signature),
      user: toText(response.userHandle ?? new ArrayBuffer(0)),
    };
  },
};

const FAULTS = {
  NotAllowedError: "Cancelled, or it took too long.",
  InvalidStateError: "There is a passkey of this account already.",
  SecurityError: "This address takes no passkeys: they need https, and the name of the host.",
};

async function ask(form, more) {
  const options = await optionsFor(form);
  if (options === undefined) return;
  form.elements.result.value = JSON.stringify(await WAYS[form.dataset.passkey](options, more));
  form.submit();
}

/** Offers passkeys where the browser fills in the address, until there is something else to do. */
async function offer(form, { signal }) {
  if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
  while (!signal.aborted) {
    const renewal = AbortSignal.timeout(RENEW_MS);
    try {
      const either = AbortSignal.any([signal, renewal]);
      return await ask(form, { mediation: "conditional", signal: either });
    } catch {
      if (!renewal.aborted) return; // the button says what is wrong
      while (document.hidden) {
        await new Promise((done) =>
          document.addEventListener("visibilitychange", done, { once: true })
        );
      }
    }
  }
}

for (const form of document.querySelectorAll("[data-passkey]")) {
  if (globalThis.PublicKeyCredential === undefined) {
    form.hidden = true;
    continue;
  }
  const fault = form.querySelector("[role=alert]");
  let offered = new AbortController();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    offered.abort(); // a browser asks for one at a time
    fault.hidden = true;
    try {
      await ask(form, {});
    } catch (error) {
      fault.textContent = FAULTS[error.name] ?? error.message;
      fault.hidden = false;
      start();
    }
  });
  const start = () => {
    offered = new AbortController();
    if (document.querySelector("[autocomplete~=webauthn]") !== null) offer(form, offered);
  };
  start();
}
