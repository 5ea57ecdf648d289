import type { Account, Key } from "../../people/accounts/mod.ts";
import {
  KEY_CREATE,
  KEY_REVOKE,
  KEY_ROTATE,
  KEY_UPDATE,
  subjectOfKey,
} from "../../operating/operations/mod.ts";
import type { AccountPages } from "./account_pages.tsx";
import { addBudgetForms } from "./budget_form.ts";
import { type FormRow, pageWithForms, type PostForm } from "./forms.ts";
import type { GuardedApp } from "./guard.ts";
import { keyChanges, madeOf, newKeyIn, rotationIn } from "./key_form.ts";
import type { ConsoleParts } from "./request.tsx";

/** Adds the forms about a key that there is, which a row of them finds. */
export function addKeyForms<Page, About extends { readonly key: Key }>(
  post: PostForm<Page, { readonly made?: string }>,
  parts: Pick<ConsoleParts, "catalog" | "database" | "now">,
  path: string,
  ofKey: Required<Pick<FormRow<Page, About, never>, "about">> & { readonly missing?: string },
): void {
  const { catalog, now } = parts;
  post<About>(`${path}/revoke`, KEY_REVOKE, { ...ofKey, done: "revoked" });
  post<About>(`${path}/update`, KEY_UPDATE, {
    ...ofKey,
    input: (form, { key }) => keyChanges(form, key, { catalog: catalog(), nowMs: now() }),
    done: "key",
  });
  post<About>(`${path}/rotate`, KEY_ROTATE, { ...ofKey, input: rotationIn, shows: madeOf });
  addBudgetForms(post, parts, {
    ...ofKey,
    path,
    owner: ({ key }: About) => ({ owner: "key", ownerId: key.id }),
  });
}

/** The page of the keys that the visitor pays for or uses, with its forms. */
export function ownKeyForms(app: GuardedApp, parts: ConsoleParts, pages: AccountPages): void {
  const { catalog, keys, now } = parts;
  type Own = { readonly account: Account };
  const post = pageWithForms<Own, { readonly made?: string }>(app, parts, "/console/keys", {
    action: "self.use",
    find: (_c, { account }) => Promise.resolve({ account }),
    show: (c, session, _page, more) => pages.keys(c, session, more),
  });
  post("", KEY_CREATE, { input: (form) => newKeyIn(form, catalog(), now()), shows: madeOf });
  addKeyForms(post, parts, "/:id", {
    async about(c, { account: { id } }) {
      const key = await keys.byId(c.req.param("id") ?? "");
      return key === undefined || ![key.accountId, key.memberId].includes(id)
        ? undefined
        : { ...await subjectOfKey(parts, key), key };
    },
  });
}
