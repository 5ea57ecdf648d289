/** Forms of a page as a browser without scripts has them. */

/** What a form has: where it posts, and each value of a field that it offers. */
export interface PageForm {
  readonly action: string;
  readonly fields: readonly OfferedField[];
}

/** One value of a field: a text, a box, a radio or an option of a list. */
export interface OfferedField {
  readonly name: string;
  readonly value: string;
  readonly kind: "hidden" | "text" | "box" | "radio" | "option";
  /** Whether it is sent as the page is shown. */
  readonly isChosen: boolean;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
};
const plain = (text: string) =>
  text.replaceAll(/&([a-z]+|#39);/g, (all, name) => ENTITIES[name] ?? all);

/** Reads the forms that post, of a page's HTML. */
export function formsOf(html: string): PageForm[] {
  return [...html.matchAll(/<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/gs)]
    .map(([, action, inner]) => ({ action: plain(action!), fields: fieldsOf(inner!) }));
}

function fieldsOf(html: string): OfferedField[] {
  const fields: OfferedField[] = [];
  let list: string | undefined;
  for (
    const [, tag, more] of html.matchAll(/<(input|select|option|\/select|textarea)\b([^>]*)>/g)
  ) {
    const attribute = (name: string) => {
      const found = new RegExp(`(?:^|\\s)${name}(?:="([^"]*)")?(?=\\s|/|$)`).exec(more!);
      return found === null ? undefined : plain(found[1] ?? "");
    };
    if (tag === "select") list = attribute("name");
    else if (tag === "/select") list = undefined;
    else if (tag === "option") {
      const isFirst = !fields.some(({ name, kind }) => kind === "option" && name === list);
      const isSelected = attribute("selected") !== undefined;
      const at = fields.findIndex(({ name, kind, isChosen }) =>
        kind === "option" && name === list && isChosen
      );
      if (isSelected && at >= 0) fields[at] = { ...fields[at]!, isChosen: false };
      fields.push({
        name: list!,
        value: attribute("value") ?? "",
        kind: "option",
        isChosen: isFirst || isSelected,
      });
    } else {
      const type = attribute("type") ?? "text";
      const kind = type === "checkbox"
        ? "box"
        : type === "radio" || type === "hidden"
        ? type
        : "text";
      const isChosen = (kind !== "box" && kind !== "radio") || attribute("checked") !== undefined;
      fields.push({
        name: attribute("name") ?? "",
        value: attribute("value") ?? "",
        kind,
        isChosen,
      });
    }
  }
  return fields;
}
