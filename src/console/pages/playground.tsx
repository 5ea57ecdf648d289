import type { Route } from "../../catalog/mod.ts";
import { DIALECT_NAMES } from "../../dialects/mod.ts";
import { Layout, type PageContext } from "../layout.tsx";

/** Form to send one request and inspect its response. */
export function PlaygroundPage(
  { page, csrf, routes }: { page: PageContext; csrf: string; routes: readonly Route[] },
) {
  return (
    <Layout page={page} title="Playground" script="playground.js">
      <noscript>
        <p class="notice bad">
          The playground requires JavaScript. The snippets on the Keys page do not.
        </p>
      </noscript>
      <form id="play" class="play" hidden>
        <input type="hidden" name="csrf" value={csrf} />
        <div class="card">
          <div class="row">
            <label class="field">
              <span>Dialect</span>
              <select name="dialect">
                {DIALECT_NAMES.map((name) => <option value={name}>{name}</option>)}
              </select>
            </label>
            <label class="field">
              <span>Model</span>
              <select name="model">
                {routes.map(({ id }) => <option value={id}>{id}</option>)}
              </select>
            </label>
          </div>
          <label class="field">
            <span>System</span>
            <textarea name="system" rows={2} />
          </label>
          <label class="field">
            <span>Prompt</span>
            <textarea name="prompt" rows={5} required>Hello, who are you?</textarea>
          </label>
          <label class="field">
            <span>Image</span>
            <input type="file" name="image" accept="image/png,image/jpeg,image/webp,image/gif" />
          </label>
          <label class="field">
            <span>Max output tokens</span>
            <input type="number" name="max_tokens" min="1" max="128000" value="500" />
          </label>
          <p>
            <label>
              <input type="checkbox" name="stream" checked />
              Stream
            </label>
            <br />
            <label>
              <input type="checkbox" name="tools" />
              Offer a tool (get_weather)
            </label>
          </p>
          <button type="submit">Send</button>
          <p class="quiet">Requests are charged as usual, to a key that expires in an hour.</p>
        </div>
        <div>
          <section class="card" aria-label="Response" aria-live="polite">
            <div id="reasoning" class="reasoning" />
            <div id="answer" class="answer" />
          </section>
          <details open>
            <summary>Status and headers</summary>
            <pre id="facts" role="group" tabindex={0} aria-label="Status and headers" />
          </details>
          <details>
            <summary>Raw events</summary>
            <pre id="events" class="raw" role="group" tabindex={0} aria-label="Events" />
          </details>
          <details>
            <summary>Request</summary>
            <pre id="request" class="raw" role="group" tabindex={0} aria-label="Request" />
          </details>
          <details>
            <summary>As curl</summary>
            <CopyableSlot id="curl" label="the curl command" />
          </details>
          <details>
            <summary>With the SDK, JavaScript</summary>
            <CopyableSlot id="sdk" label="the JavaScript code" />
          </details>
          <details>
            <summary>With the SDK, Python</summary>
            <CopyableSlot id="python" label="the Python code" />
          </details>
        </div>
      </form>
    </Layout>
  );
}

/** Copyable text that the page's script fills in. */
function CopyableSlot({ id, label }: { id: string; label: string }) {
  return (
    <div class="copyable">
      <button type="button" class="copy" data-copy hidden aria-label={`Copy ${label}`}>Copy</button>
      <pre role="group" tabindex={0} aria-label={label}><code id={id} /></pre>
    </div>
  );
}
