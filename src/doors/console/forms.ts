import {
  AccountError,
  type Action,
  DuplicateKey,
  type Session,
} from "../../people/accounts/mod.ts";
import {
  denialOf,
  type Json,
  rightOf,
  type Subject,
  type WriteOperation,
} from "../../operating/operations/mod.ts";
import { DuplicateCode } from "../../money/payments/mod.ts";
import { type GuardedApp, may } from "./guard.ts";
import {
  type ConsoleParts,
  type FormFields,
  notFound,
  operate,
  type PageRequest,
  seeOther,
} from "./request.tsx";

interface FormPage<Page, More> {
  /** The action by which the page is seen: without it, neither the page nor its forms exist. */
  readonly action: Action;
  /** Where the page is, below the path that its forms have in common. Default: there. */
  readonly at?: string;
  /** Finds what the page is about; `undefined` if there is no such page. Default: the visitor's account. */
  readonly find?: (c: PageRequest, session: Session) => Promise<Page | undefined>;
  /** Shows the page; after a form, with an error or with what is shown once. */
  readonly show: (
    c: PageRequest,
    session: Session,
    page: Page,
    more: Partial<More> & { readonly error?: string },
  ) => Promise<Response>;
}

/** A form of a page, for one write. */
export interface FormRow<Page, About, More> {
  /** Finds what of the page the form is about. Default: the page. `undefined` if it is not there for the session. */
  readonly about?: (
    c: PageRequest,
    page: Page,
    session: Session,
  ) => About | undefined | Promise<About | undefined>;
  /** The error if it is not there. Default: the form does not exist. */
  readonly missing?: string;
  /**
   * Reads the input of the write from the fields, besides the IDs of the team, account and key that it is about; `undefined` if
   * there is nothing to do.
   */
  readonly input?: (
    form: FormFields,
    about: About,
    c: PageRequest,
  ) => Json | undefined | Promise<Json | undefined>;
  /** The word of the message on the page afterwards, or the path of another page. */
  readonly done?:
    | string
    | ((reply: Json, of: { readonly about: About; readonly input: Json }) => string);
  /** What the page shows once, instead of a message. */
  readonly shows?: (reply: Json) => Partial<More>;
}

/** Adds a form to a page. Only those are accepted for whom the operation says so, as its API does. */
export type PostForm<Page, More> = <About extends object = Page & object>(
  path: string,
  operation: WriteOperation,
  row: FormRow<Page, About, More>,
) => void;

/** Adds a page, and returns what adds forms to it. Their errors are shown on it. */
export function pageWithForms<Page extends object = Pick<Session, "account">, More = unknown>(
  app: GuardedApp,
  parts: ConsoleParts,
  base: string,
  { action, at = "", show, ...rest }: FormPage<Page, More>,
): PostForm<Page, More> {
  const find = rest.find ?? ((_c, { account }) => Promise.resolve({ account } as object as Page));
  app.get(
    `${base}${at}`,
    may(action, async (c, session) => {
      const page = await find(c, session);
      return page === undefined ? await notFound(c) : await show(c, session, page, {});
    }),
  );
  return <About extends object = Page>(
    path: string,
    operation: WriteOperation,
    row: FormRow<Page, About, More>,
  ) => {
    const carryOut = async (c: PageRequest, session: Session, page: Page): Promise<Response> => {
      const about = row.about === undefined
        ? page as object as About
        : await row.about(c, page, session);
      if (about === undefined) {
        if (row.missing === undefined) return await notFound(c);
        throw new AccountError(row.missing);
      }
      const right = rightOf(session, operation, about as Subject);
      const denial = denialOf(session, right);
      if (denial !== undefined) {
        if (denial.message !== right.why) return await notFound(c);
        throw new AccountError(denial.message.replace(/\.$/, ""));
      }
      const input = row.input === undefined ? {} : await row.input(c.var.form, about, c);
      const reply = input === undefined ? {} : await operate(c, parts, session, [
        operation,
        { ...idsOf(operation, about), ...input },
      ]);
      if (row.shows !== undefined) return await show(c, session, page, row.shows(reply));
      const done = typeof row.done === "function"
        ? row.done(reply, { about, input: input ?? {} })
        : row.done ?? "";
      return seeOther(c, done.startsWith("/") ? done : `${pathOf(c, path)}${at}?done=${done}`);
    };
    const respond = async (c: PageRequest, session: Session): Promise<Response> => {
      const page = await find(c, session);
      if (page === undefined) return await notFound(c);
      try {
        return await carryOut(c, session, page);
      } catch (error) {
        // the page that shows what was made was loaded again: it is not shown twice
        if (error instanceof DuplicateKey || error instanceof DuplicateCode) {
          return seeOther(c, `${pathOf(c, path)}${at}`);
        }
        if (!(error instanceof AccountError)) throw error;
        return await show(
          c,
          session,
          page,
          { error: `${error.message}.` } as Partial<More> & {
            error: string;
          },
        );
      }
    };
    app.post(`${base}${path}`, may(action, respond, operation));
  };
}

/** IDs of what a form is about, as far as its operation takes them by their names. */
function idsOf({ input: { shape } }: WriteOperation, about: object): Json {
  const parts: Readonly<Record<string, { readonly id?: string } | undefined>> = { ...about };
  const ids = Object.keys(shape).map((name) => [name, parts[name]?.id] as const);
  return Object.fromEntries(ids.filter(([, id]) => id !== undefined));
}

/** The path that the forms of a page have in common, from that of one of them. */
function pathOf({ req }: PageRequest, path: string): string {
  return req.path.replace(/\/$/, "").split("/").slice(0, -path.split("/").length + 1 || undefined)
    .join("/");
}
