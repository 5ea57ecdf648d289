import { Fragment } from "@hono/hono/jsx";

/** Up to this many characters, a name fits everywhere. */
const SHORT_CHARS = 28;
/** Characters at the end that stay visible: often what tells long names apart. */
const END_CHARS = 10;

/**
 * A name or ID. A long one is shortened in its middle to the width that there is; its whole text is what is read out and
 * copied, is the tooltip, and is shown when it has the focus. Text of several words wraps instead.
 */
export function Name(
  { text, href, code = false }: { text: string; href?: string | undefined; code?: boolean },
) {
  const Text = code ? "code" : Fragment;
  const isLong = text.split(/\s/).some((word) => word.length > SHORT_CHARS);
  if (!isLong) {
    return href === undefined ? <Text>{text}</Text> : (
      <a href={href}>
        <Text>{text}</Text>
      </a>
    );
  }
  if (/\s/.test(text.trim()) && href === undefined) {
    return (
      <span class="breaks">
        <Text>{text}</Text>
      </span>
    );
  }
  const chars = [...text];
  const halves = (
    <>
      <span class="start">{chars.slice(0, -END_CHARS).join("")}</span>
      <span class="end">{chars.slice(-END_CHARS).join("")}</span>
    </>
  );
  const className = code ? "name code" : "name";
  return href === undefined
    ? <span class={className} title={text} tabindex={0}>{halves}</span>
    : <a class={className} title={text} href={href}>{halves}</a>;
}

/** Shortens a long text in its middle, where the whole of it is nearby. */
export function shortened(text: string): string {
  const chars = [...text];
  if (chars.length <= SHORT_CHARS) return text;
  const start = chars.slice(0, SHORT_CHARS - END_CHARS - 1).join("");
  return `${start}…${chars.slice(-END_CHARS).join("")}`;
}

/** Names that a list shows before the rest is folded away. */
const NAMES_SHOWN = 3;

/** Several names, such as the models that a key may use; an empty list is a choice, too, and says so. */
export function Names({ all }: { all: readonly string[] }) {
  if (all.length === 0) return <>none</>;
  const [shown, folded] = [all.slice(0, NAMES_SHOWN), all.slice(NAMES_SHOWN)];
  return (
    <>
      <NameList all={shown} />
      {folded.length === 0 ? null : (
        <details class="more">
          <summary>{folded.length} more</summary>
          <NameList all={folded} />
        </details>
      )}
    </>
  );
}

function NameList({ all }: { all: readonly string[] }) {
  return (
    <>
      {all.map((text, at) => (
        <>
          <span class="together">
            <Name text={text} />
            {at < all.length - 1 ? "," : ""}
          </span>
          {" "}
        </>
      ))}
    </>
  );
}
