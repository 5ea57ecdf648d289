import { checkScope, type Members } from "../../people/accounts/mod.ts";
import type { Settings } from "../../settings/config/mod.ts";
import { type Database, type ReadFor, readTogether } from "../../ground/database/mod.ts";
import { DIALECTS } from "../../wire/dialects/mod.ts";
import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { keyBudgetsReading } from "../../money/ledger/mod.ts";
import type { Admission } from "../../requests/admission/mod.ts";
import {
  type Granted,
  type ManagedSettings,
  openManagedSettings,
  openTelemetryRelay,
  openToolUsage,
  type Signal,
  type TelemetryRelay,
} from "../tools/mod.ts";
import type { Callers } from "./callers.ts";
import { packingOf, unpack } from "./packed_body.ts";
import type { RequestState } from "./request_state.ts";

/** Dependencies of {@linkcode ToolRequests}. */
export interface ToolRequestsParts {
  /** The database for reports. */
  readonly reports: Database;
  readonly readFor: ReadFor;
  readonly members: Pick<Members, "ofAccount">;
  readonly admission: Admission;
  readonly now: () => number;
  readonly timers: CoarseTimers;
  readonly log: Log;
  /** Aborted when the gateway closes. */
  readonly closing: AbortSignal;
}

/** The same with who calls. */
interface OpenedParts extends ToolRequestsParts {
  readonly callers: Callers;
  readonly granted: Granted;
  readonly settings: Pick<Settings, "credits" | "proxies" | "signIn">;
}

/** Requests of signed-in tools that are not for models, by the protocol of Claude Code: errors are those of the messages dialect. */
export class ToolRequests {
  readonly #parts: OpenedParts;
  #managed: Promise<ManagedSettings> | undefined;
  #telemetry: Promise<TelemetryRelay> | undefined;

  constructor(parts: OpenedParts) {
    this.#parts = parts;
  }

  /** What the caller has used, in cents. */
  async usage(request: Request, state: RequestState): Promise<Response> {
    const caller = await this.#identify(request, state);
    const { reports, readFor, admission, now, settings: { credits } } = this.#parts;
    const { accountId, keyId, teamId } = caller;
    const status = await admission.accountStatus(caller);
    const toolUsage = await openToolUsage();
    const body = await readFor(accountId, async () => {
      const { budgets } = await readTogether(reports, { budgets: keyBudgetsReading(keyId, now()) });
      const granted = teamId === null ? await this.#parts.granted.read(accountId) : undefined;
      return toolUsage(status, { budgets, granted, perUsd: credits.perUsd });
    });
    return Response.json(body, { headers: { ...state.headers, "cache-control": "no-store" } });
  }

  /** The settings that the operator has for the caller's tool. */
  async managedSettings(request: Request, state: RequestState): Promise<Response> {
    const { memberId, accountId } = await this.#identify(request, state);
    const policies = this.#parts.settings.signIn?.managedSettings;
    if (policies !== undefined) {
      const managed = await (this.#managed ??= openManagedSettings(policies));
      const teams = (await this.#parts.members.ofAccount({ id: memberId ?? accountId }))
        .filter(({ stoppedAtMs }) => stoppedAtMs === null)
        .map(({ teamId: id, teamName: name }) => ({ id, name }));
      const response = managed.respond(request, teams, state.headers);
      if (response !== undefined) return response;
    }
    throw new Refusal(
      "path_unknown",
      "No managed settings for this account: the operator has set none.",
    );
  }

  /** Telemetry of a tool. */
  async telemetry(request: Request, state: RequestState, signal: Signal): Promise<Response> {
    const caller = await this.#identify(request, state);
    const relay = await (this.#telemetry ??= openTelemetryRelay({
      ...this.#parts,
      collector: this.#parts.settings.signIn?.telemetry,
      async unpack(bytes, headers, { bytes: maxBytes, tooLarge }) {
        const format = packingOf(headers);
        if (format === undefined) return bytes;
        return await unpack(bytes, format, (size) => {
          return size > maxBytes ? Promise.reject(tooLarge()) : Promise.resolve();
        });
      },
    }));
    return await relay.take(request, signal, caller, state.headers);
  }

  async #identify(request: Request, state: RequestState) {
    state.front = DIALECTS.messages.front;
    const caller = await this.#parts.callers.identify(request, state);
    checkScope(caller, "inference");
    return caller;
  }
}
