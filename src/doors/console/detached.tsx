import { can, type Session } from "../../people/accounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { Stat } from "./components.tsx";
import { Layout } from "./layout.tsx";
import { isTroubled } from "./operator/upstream_table.tsx";
import { MessagePage } from "./pages/message.tsx";
import { type ConsoleParts, page, type PageRequest, strangersPage } from "./request.tsx";

/** Sessions that are remembered: those of operators are few. */
const MAX_SESSIONS = 1_000;

/**
 * What the console shows while the database does not answer. Sessions are in there: an operator whose session was found a moment ago
 * sees how this gateway does, for as long as keys are valid without it; nobody else sees more than that the console cannot be used.
 */
export class DetachedPages {
  readonly #parts: ConsoleParts;
  /** By token; the one that was found last is the last. */
  readonly #known = new Map<string, { readonly session: Session; readonly foundTick: number }>();

  constructor(parts: ConsoleParts) {
    this.#parts = parts;
  }

  /** Whether pages can be read only from here. */
  get isDetached(): boolean {
    return this.#parts.database.outbox?.isDetached === true;
  }

  /** Notes what the database says of a session: undefined if it has ended. */
  found(token: string, session: Session | undefined): void {
    this.#known.delete(token);
    if (session === undefined || !can(session, "live.read")) return;
    if (this.#known.size >= MAX_SESSIONS) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(token, { session, foundTick: performance.now() });
  }

  /** The page in place of all others. */
  async respond(c: PageRequest): Promise<Response> {
    const session = this.#recall(c.var.token);
    const context = strangersPage(c);
    const shown = session === undefined
      ? (
        <MessagePage
          page={context}
          title="Database unavailable"
          text="The gateway cannot use its database at the moment. Please try again in a few seconds. If you sent a form, check whether the change was made before you send it again."
          link={{ href: "/console/", words: "Back to the console" }}
        />
      )
      : <Layout page={context} title="Detached">{await this.#present(session)}</Layout>;
    const response = await page(c, shown, STATUS_CODE.ServiceUnavailable);
    response.headers.set("retry-after", "2");
    return response;
  }

  #recall(token: string | undefined): Session | undefined {
    const known = token === undefined ? undefined : this.#known.get(token);
    if (known === undefined || !this.isDetached) return undefined;
    const { patienceMs } = this.#parts.config.settings.outage;
    return performance.now() - known.foundTick < patienceMs ? known.session : undefined;
  }

  async #present(session: Session) {
    const { database, liveRequests, upstreamStates } = this.#parts;
    const upstreams = can(session, "upstreams.read") ? await upstreamStates() : undefined;
    const troubled = upstreams?.filter(isTroubled).length ?? 0;
    return (
      <>
        <p>
          The database does not answer. This gateway is{" "}
          <em>detached</em>: it serves requests that the credits it was lent cover, and keeps their
          settlements until the database is back. Nothing else can be read or changed until then.
        </p>
        <dl class="stats">
          <Stat name="Database" value="detached" note={database.place} />
          <Stat name="Settlements kept" value={database.outbox?.kept ?? 0} />
          <Stat name="In flight" value={(await liveRequests()).length} />
          {upstreams === undefined ? null : (
            <Stat
              name="Upstreams"
              value={`${upstreams.length - troubled} of ${upstreams.length} ok`}
            />
          )}
        </dl>
        <p>
          <a href="/console/operator">Try again</a>
        </p>
      </>
    );
  }
}
