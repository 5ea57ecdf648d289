import * as z from "zod";
import { kindByName, whyNotServed } from "../../settings/catalog/mod.ts";

const emailAddress = z.email();

/**
 * Makes a name of letters, digits, `.`, `_` and `-` for an upstream or an address.
 *
 * @param otherwise The name if nothing is left.
 */
export function slug(text: string, otherwise: string): string {
  const plain = text.normalize("NFKD").replaceAll(/[\u0300-\u036f]/g, "");
  const name = plain.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[^A-Za-z0-9]+|[-.]+$/g, "")
    .replaceAll(/\.{2,}/g, ".").slice(0, 60).replace(/[-.]+$/, "").toLowerCase();
  return name === "" ? otherwise : name;
}

/** Returns an email address in lower case, or `undefined` if the text is none. */
export function emailOf(text: string | undefined): string | undefined {
  const email = text?.trim().toLowerCase();
  return email !== undefined && email.length <= 254 && emailAddress.safeParse(email).success
    ? email
    : undefined;
}

/** Returns a base URL without a slash at its end, or `undefined` if the text is none. */
export function baseUrl(text: string): string | undefined {
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) return undefined;
  return text.replace(/\/+$/, "");
}

/** Returns a URL for display: without password and query, which may hold secrets. */
export function shownUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/$/, "")}`;
}

/** Says why no route is made for a model, by its name; `undefined` if one is. */
export function whyNotImported(model: string): string | undefined {
  if (kindByName(model) === "generation") return whyNotServed(model);
  return 'not a chat model: add a route of kind "embeddings" for it';
}
