import type { Route, RouteKind } from "../../../settings/catalog/mod.ts";
import { DIALECT_NAMES } from "../../../wire/dialects/mod.ts";
import { Copyable, Select, Term } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";

/** Shown instead of the models where there are none of a kind. */
const NO_MODELS: Readonly<Record<RouteKind, string>> = {
  generation: "No model for replies is available.",
  embeddings: "No model for embeddings is available: the operator must add a route for one.",
};

/** Form to send one request and inspect its response. */
export function PlaygroundPage(
  { page, routes }: { page: PageContext; routes: readonly Route[] },
) {
  return (
    <Layout page={page} title="Playground" script="playground.js">
      <noscript>
        <p class="notice bad">
          The playground requires JavaScript. The snippets on the Keys page do not.
        </p>
      </noscript>
      <form id="play" class="play" hidden>
        <input type="hidden" name="csrf" value={page.csrf} />
        <div class="card">
          <div class="row">
            <Select
              label="Dialect"
              name="dialect"
              options={[...DIALECT_NAMES, "embeddings"]}
              autocomplete="off"
            />
            <label class="field">
              <span>Model</span>
              <select name="model" autocomplete="off" required>
                {routes.map((route) => <ModelOption route={route} />)}
              </select>
            </label>
          </div>
          {(["generation", "embeddings"] as const)
            .filter((kind) => !routes.some((route) => route.kind === kind))
            .map((kind) => (
              <p class="notice bad" data-kind={kind} hidden>
                {NO_MODELS[kind]} See <a href="/console/models">Models</a>.
              </p>
            ))}
          <label class="field" data-kind="generation">
            <span>System</span>
            <textarea name="system" rows={2} />
          </label>
          <label class="field">
            <span data-kind="generation" id="prompt-label">Prompt</span>
            <span data-kind="embeddings" hidden>Text</span>
            <textarea name="prompt" rows={5} required>Hello, who are you?</textarea>
          </label>
          <label class="field" data-kind="generation" data-needs="images">
            <span>Image</span>
            <input type="file" name="image" accept="image/png,image/jpeg,image/webp,image/gif" />
          </label>
          <div class="row">
            <label class="field" data-kind="generation">
              <span>Max output tokens</span>
              <input type="number" name="max_tokens" min="1" max="128000" value="500" />
            </label>
            <label class="field" data-kind="generation">
              <span>Temperature</span>
              <input
                type="number"
                name="temperature"
                min="0"
                max="2"
                step="0.1"
                placeholder="default"
              />
            </label>
            <label class="field" data-kind="generation" data-needs="efforts">
              <span>Effort</span>
              <select name="effort" autocomplete="off" />
            </label>
          </div>
          <p data-kind="generation">
            <label>
              <input type="checkbox" name="stream" checked />
              Stream
            </label>
            <br />
            <label>
              <input type="checkbox" name="tools" />
              Offer a tool (get_weather)
            </label>
            <br />
            <label>
              <input type="checkbox" name="continue" checked />
              Continue the conversation
            </label>
          </p>
          <div class="row">
            <button type="submit">Send</button>
            <button type="button" class="plain" id="restart" hidden>New conversation</button>
          </div>
          <p class="quiet">
            Requests are <Term word="charge">charged</Term>{" "}
            as usual, to a key that expires in an hour. A <Term word="dialect" />{" "}
            is how a program writes its requests.
          </p>
        </div>
        <div>
          <section class="card" aria-label="Response">
            <ol id="turns" class="turns" aria-label="Conversation so far" />
            <div aria-live="polite">
              <div id="reasoning" class="reasoning" />
              <div id="answer" class="answer" />
            </div>
            <p id="use" class="quiet use" role="status" />
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
            <Copyable id="curl" label="the curl command" />
          </details>
          <p id="request-file" hidden>
            The commands read the request from a file, since it is long:{" "}
            <a download="request.json">Save request.json</a>
          </p>
          <details>
            <summary>With the SDK, JavaScript</summary>
            <Copyable id="sdk" label="the JavaScript code" />
          </details>
          <details>
            <summary>With the SDK, Python</summary>
            <Copyable id="python" label="the Python code" />
          </details>
        </div>
      </form>
    </Layout>
  );
}

/** A model, with what the page's script needs to know of it. */
function ModelOption({ route: { id, kind, efforts, images } }: { route: Route }) {
  return (
    <option
      value={id}
      data-kind={kind}
      data-efforts={efforts.join(" ")}
      data-images={images}
    >
      {id}
    </option>
  );
}
