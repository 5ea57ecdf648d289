import type { Context } from "@hono/hono";
import type { Child } from "@hono/hono/jsx";
import { AccountError, type Passwords, type Session } from "../../people/accounts/mod.ts";
import type { Admission } from "../../requests/admission/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import { type Config, moneyIn } from "../../settings/config/mod.ts";
import { AmountError, wholeIn, type WholeRule } from "../../ground/amounts/mod.ts";
import type { Condition, ReadFor, Statement } from "../../ground/database/mod.ts";
import { OperationError, recordStatement, sessionActor } from "../../people/operation_log/mod.ts";
import {
  type GatewayParts,
  type Json,
  type Nouns,
  type OperationParts,
  perform,
  type WriteOperation,
} from "../../operating/operations/mod.ts";
import type { InFlightRequest } from "../../requests/relay/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import type { PageSource } from "./live_pages.ts";
import { noticeOf, type PageContext } from "./layout.tsx";
import { MessagePage, type MessageProps } from "./pages/message.tsx";
import type { BasePath, Visitor } from "../../ground/web/mod.ts";

/** Dependencies of the console. */
export interface ConsoleParts extends Nouns, Pick<GatewayParts, "upstreamStates" | "aside"> {
  readonly config: Config;
  readonly passwords: Passwords;
  /** The models that are served now. */
  readonly catalog: () => Catalog;
  readonly admission: Admission;
  /** How the settings were read last; `undefined` if they were read only at the start. */
  readonly reloads: () => LastReload | undefined;
  /** In-flight requests of all threads of the process, oldest first. */
  readonly liveRequests: () => Promise<readonly InFlightRequest[]>;
  /** Operators' pages with live parts. */
  readonly livePages: PageSource;
  readonly log: Log;
  readonly now: () => number;
  readonly readFor: ReadFor;
  /** Aborted when the gateway closes its connections: responses that have no end of their own end. */
  readonly closing: AbortSignal;
  /** What operations work with, but for the address that links have. */
  readonly operations: Omit<OperationParts, "address">;
  /** The document that `/docs` shows. */
  readonly openApi: () => Promise<unknown>;
}

/** How the settings were read last. */
export interface LastReload {
  readonly atMs: number;
  /** Why the settings in use stayed; null if the new ones are used. */
  readonly fault: string | null;
  /** Changed settings that need a restart. */
  readonly needRestart: readonly string[];
}

/** Context of a request to the console. */
export interface Env {
  Bindings: { readonly visitor: Visitor; readonly base: BasePath };
  Variables: {
    /** `undefined` if the visitor is not signed in. */
    session: Session | undefined;
    /** Session token from the cookie. */
    token: string | undefined;
    /** Fields of the submitted form. */
    form: FormFields;
  };
}

/** A request to the console, with its response helpers. */
export type PageRequest = Context<Env>;

/**
 * Fields of a submitted form. One that a form has once is refused if it was sent twice: of two values, it is unknown which one
 * the page showed.
 */
export class FormFields {
  readonly #fields: URLSearchParams;

  constructor(text: string) {
    this.#fields = new URLSearchParams(text);
  }

  /** Returns a field's trimmed text, or an empty text if it was not sent. */
  text(name: string): string {
    return this.raw(name).trim();
  }

  /** Returns a field's text as typed. */
  raw(name: string): string {
    return this.#only(name) ?? "";
  }

  /** Idempotency reference of the form, from its `FormId`. @throws {AccountError} If it was sent without: it may have been sent before. */
  get reference(): string {
    const id = this.text("form");
    if (id === "") throw new AccountError("Reload the page, and try again");
    return `form ${id}`;
  }

  /** Whether a field was sent, if only as an empty text. */
  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** Names and values, in the order in which they were sent. */
  get entries(): readonly (readonly [string, string])[] {
    return [...this.#fields];
  }

  /**
   * Returns the word that was selected.
   *
   * @param what What is to be selected, for the message.
   * @throws {AccountError} If none was, or one that cannot be selected: it is named. So a choice that a page lost while it
   *   was open is never read as another one.
   */
  choice<Word extends string>(name: string, what: string, words: readonly Word[]): Word {
    const text = this.text(name);
    if (text === "") throw new AccountError(`Select ${what}`);
    return offered(text, what, words);
  }

  /** Returns the words that were ticked, none if none were. @throws {AccountError} As {@linkcode choice}. */
  choices(name: string, what: string, words: readonly string[]): string[] {
    return this.#fields.getAll(name).map((text) => offered(text, what, words));
  }

  /**
   * Returns a field as a whole number, or `undefined` if empty, which often says that there is no limit.
   *
   * @param label What the page calls the field.
   * @throws {AccountError} If it is not a number, or out of range, or was not sent, which is not the same as empty.
   */
  count(name: string, label = name, rule: WholeRule = COUNT): number | undefined {
    return this.sent(name) === "" ? undefined : this.amount(name, label, rule);
  }

  /** Returns a field that may not be empty as a whole number. @throws {AccountError} If it is none, or out of range. */
  amount(name: string, label: string, rule: WholeRule): number {
    return amountOf(label, () => wholeIn(this.raw(name), rule));
  }

  /**
   * Returns a field as money in minor units, or `undefined` if empty.
   *
   * @throws {AccountError} If it is no such amount, or was not sent.
   */
  money(name: string, label: string, currency: string): number | undefined {
    const text = this.sent(name);
    return text === "" ? undefined : amountOf(label, () => moneyIn(text, currency, 1));
  }

  /** Returns the text, as typed, of a field that may be empty. @throws {AccountError} If it was not sent. */
  sent(name: string): string {
    const text = this.#only(name);
    if (text !== undefined) return text;
    throw new AccountError(`The form lacks '${name}': reload the page, and try again`);
  }

  #only(name: string): string | undefined {
    const [text, ...others] = this.#fields.getAll(name);
    if (others.length === 0) return text;
    const shown = JSON.stringify(name.slice(0, 40));
    throw new AccountError(`The form has ${shown} twice: reload the page, and try again`);
  }
}

/** A number of anything. */
const COUNT: WholeRule = { min: 0, max: 999_999_999_999_999 };

/** Reads an amount of a field. @throws {AccountError} If it is none, naming the field. */
export function amountOf(label: string, read: () => number): number {
  try {
    return read();
  } catch (error) {
    throw error instanceof AmountError ? new AccountError(`${label} ${error.message}`) : error;
  }
}

function offered<Word extends string>(text: string, what: string, words: readonly Word[]): Word {
  const found = words.find((one) => one === text);
  if (found !== undefined) return found;
  const shown = JSON.stringify(text.slice(0, 200));
  throw new AccountError(`Select ${what}: ${shown} cannot be selected any more`);
}

/** Messages after a write, by the word in the page's URL. */
const DONE: Readonly<Record<string, string>> = {
  registered: "If the address is new, the account has been created. Sign in.",
  "signed-out": "You have been signed out.",
  "signed-out-everywhere": "All sessions have been signed out.",
  unsent: "You are signed out, so the form was not carried out. Sign in, and send it again.",
  revoked: "Key revoked. It stops working within a second.",
  password: "Password saved.",
  linked: "The identity signs in this account from now on.",
  unlinked: "The identity has been unlinked.",
  "passkey-added": "The passkey signs in this account from now on.",
  "passkey-renamed": "Passkey renamed.",
  "passkey-removed": "The passkey has been removed, and its sessions have been ended.",
  "session-ended": "The session has been ended.",
  "tool-ended": "Signed out. The tool stops working within a second.",
  granted: "Credits granted.",
  recorded: "Package recorded.",
  "taken-back": "Credits taken back.",
  "written-off": "Loans written off.",
  enabled: "Account enabled.",
  role: "Role saved.",
  key: "Key saved.",
  route: "The settings file was written, and the gateway uses it.",
  upstream: "The settings file was written, and the gateway uses the upstream.",
  team: "Team saved.",
  "upstream-key": "Key of the upstream set. It is used within a second.",
  "upstream-key-removed": "Key of the upstream removed. It is used no more within a second.",
  "own-keys": "Saved. It applies within a second.",
  budget: "Budget saved.",
  "budget-raised": "Budget raised.",
  "budget-raise-ended": "The raise has been ended.",
  "budget-removed": "Budget removed.",
  "team-disabled": "Team disabled. Its keys stop working within a second.",
  "team-enabled": "Team enabled.",
  "member-added": "Member added.",
  "member-stop": "Member stopped. Their keys of the team stop working within a second.",
  "member-start": "Member started again.",
  "member-remove": "Member removed. Their keys of the team are revoked.",
  refunded: "Refunded. The credits were taken in proportion.",
  asked: "Stripe was asked: nothing has changed.",
  reconciled: "Stripe was asked, and the order is up to date.",
  dismissed: "Noted.",
  "code-revoked": "Code revoked.",
  redeemed: "Code redeemed. The credits are in your balance.",
  "top-up": "Automatic top-up saved.",
  "top-up-off": "Automatic top-up is off. The payment method was removed.",
  disabled: "Account disabled. Its keys stop working within a second.",
};

/** Renders a page as a response. @param status Default: 400 of a page with an error, by {@linkcode pageOf}; else 200. */
export async function page(c: PageRequest, content: Child | Promise<Child>, status?: number) {
  const html = `<!doctype html>${await content}`;
  return c.body(html, status as 200, { "content-type": "text/html; charset=utf-8" });
}

/** Leads to another page after a write, or to one that may be seen. */
export function seeOther(c: PageRequest, path: string): Response {
  return c.redirect(path, STATUS_CODE.SeeOther);
}

/** What every page of this request is made with. @param error Of the form that was sent: the page is a 400 with it. */
export function pageOf(c: PageRequest, error?: string): PageContext {
  const { session } = c.var;
  if (error !== undefined) c.status(STATUS_CODE.BadRequest);
  return {
    session,
    csrf: session?.csrfToken ?? "",
    path: c.req.path === "/console" ? "/console/" : c.req.path,
    notice: noticeOf({ error, done: doneOf(c) }),
  };
}

/** Renders a page that has a message and a link only. Default: to the console. */
export function messagePage(
  c: PageRequest,
  { status, ...message }: Partial<MessageProps> & Pick<MessageProps, "title" | "text"> & {
    readonly status?: number;
  },
): Promise<Response> {
  const link = { href: "/console/", words: "Back to the console" };
  return page(c, <MessagePage page={pageOf(c)} link={link} {...message} />, status);
}

/** What a page is made with that must not need, or show, who is signed in. */
export function strangersPage({ req }: PageRequest): PageContext {
  return { session: undefined, csrf: "", path: req.path };
}

/** Returns the 404 page, also for pages that the visitor may not see. */
export function notFound(c: PageRequest): Promise<Response> {
  return messagePage(c, {
    title: "Page not found",
    text: "The link is incomplete, or the item no longer exists.",
    status: STATUS_CODE.NotFound,
  });
}

/** Returns the message about the last write, from the page's URL. */
function doneOf(c: PageRequest): string | undefined {
  const done = c.req.query("done");
  return done !== undefined && Object.hasOwn(DONE, done) ? DONE[done] : undefined;
}

/** Returns the base URL for clients, without a trailing slash. */
export function addressOf(c: PageRequest, { settings }: Config): string {
  return settings.publicUrl ?? c.env.visitor.origin;
}

/**
 * Carries out a write of a session, which is recorded in the log.
 *
 * @throws {AccountError} If it cannot be carried out.
 */
export async function operate(
  c: PageRequest,
  { operations, config }: Pick<ConsoleParts, "operations" | "config">,
  session: Session,
  [operation, input]: readonly [WriteOperation, Json],
): Promise<Json> {
  try {
    const address = () => Promise.resolve(addressOf(c, config));
    return await perform({ ...operations, address }, byOf(c, session), operation, input);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    throw new AccountError(error.message.replace(/\.$/, ""), { cause: error });
  }
}

/** Returns the statement that records what a session does that is not an operation, for the transaction that does it. */
export function recordOf(
  c: PageRequest,
  { now }: Pick<ConsoleParts, "now">,
  { session, operation, after, onlyIf }: {
    readonly session: Pick<Session, "account" | "teams">;
    readonly operation: string;
    /** Nothing is recorded where it does not hold. */
    readonly onlyIf?: Condition | undefined;
    /** What the row says besides. */
    readonly after?: unknown;
  },
): Statement {
  const { id } = session.account;
  const about = { accountId: id, objectId: id };
  return recordStatement(byOf(c, session), { operation, about, atMs: now(), after, onlyIf });
}

function byOf(c: PageRequest, session: Pick<Session, "account" | "teams">) {
  const { address } = c.env.visitor;
  return { actor: sessionActor(session), origin: { door: "console", address } } as const;
}
