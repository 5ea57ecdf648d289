import type { Child } from "@hono/hono/jsx";
import { randomText } from "../../ground/platform/mod.ts";

/** What the console's words mean, in a sentence or two. */
export const GLOSSARY = {
  attempt:
    "A request that the gateway sent to an upstream. One that fails may be sent again, to another target.",
  budget:
    "Credits that a key, a member, a team or an account may spend in a day, a week, a month, or in all.",
  charge:
    "What a request cost, in whole credits, by its tokens and the prices of its model. It is taken once, when the request has ended.",
  circuit: "Keeps requests away from a target that fails, until a trial request succeeds.",
  credit: "What requests are paid with. Credits are whole: a charge is rounded up.",
  dialect: "A format of requests and replies: chat completions, messages, or responses.",
  entry:
    "One movement of credits: a grant, a charge, an expiry, or credits that were taken back. Entries are never changed.",
  hold:
    "Credits set aside for a request in flight, so that nothing is spent twice. What it does not cost is free again when it ends.",
  lot:
    "Credits that were granted together, with one expiry. Charges take from the lot that expires first.",
  settlement:
    "The end of a request in the books: its hold is closed and its charge is taken, in one step.",
  target: "A model of an upstream that can serve a route.",
  tier: "Limits on requests per minute, hour and day, which depend on the balance.",
  upstream: "A service that the gateway sends requests to.",
  window: "A minute, an hour or a day, in UTC, in which requests are counted against a limit.",
} as const;

/** A word that the glossary explains. */
export type GlossaryWord = keyof typeof GLOSSARY;

/**
 * A word whose meaning is shown on demand: by pointer, touch or keyboard, also without scripts. The browser closes it by
 * Escape and by a press beside it.
 */
export function Term({ word, children }: { word: GlossaryWord; children?: Child }) {
  const id = `term-${word}-${randomText(4)}`; // a page may show a word twice
  return (
    <>
      <button type="button" class="term" popovertarget={id}>{children ?? word}</button>
      <span popover="auto" id={id} class="meaning" role="note">
        <strong>{word}</strong> {GLOSSARY[word]}
      </span>
    </>
  );
}
