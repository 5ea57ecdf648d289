/** What decides whether a message is the user's last word. */
export interface MessageKind {
  readonly isUser: boolean;
  /** Whether it carries the results of tools. */
  readonly hasResults: boolean;
  /** Whether the user typed nothing in it. */
  readonly isEmpty: () => boolean;
}

/**
 * Finds the user message that the current turn replies to.
 *
 * A message that carries results of tools, or follows such a message, continues the turn of an earlier one: tools,
 * coding tools and translations put results, reminders and images there. A message without any text of the user stands
 * for the user message directly before it, and for no earlier one, whose directives have been carried out.
 *
 * @returns The index; -1 if there is none.
 */
export function promptIndex(messages: readonly MessageKind[]): number {
  for (let at = messages.length - 1; at >= 0; at--) {
    const { isUser, hasResults } = messages[at]!;
    if (!isUser || hasResults) continue;
    let first = at;
    while (isPlainUser(messages[first - 1])) first--;
    if (messages[first - 1]?.hasResults) {
      at = first;
      continue;
    }
    for (let typed = at; typed >= first; typed--) if (!messages[typed]!.isEmpty()) return typed;
    return at;
  }
  return -1;
}

function isPlainUser(message: MessageKind | undefined): boolean {
  return message !== undefined && message.isUser && !message.hasResults;
}
