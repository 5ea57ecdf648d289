import type { JsonObject } from "../../../wire/dialects/mod.ts";

/** Notes a change of what the client asked for, as `X-Sluice-Adjusted` names it: `thinking=disabled`. */
export type NoteChange = (change: string) => void;

/** Changes a finished request body to what an upstream takes; returns the same object where nothing is to be changed. */
export type Adjust = (body: JsonObject, note: NoteChange) => JsonObject;

/** One step after the other. */
export function inSteps(...steps: readonly Adjust[]): Adjust {
  return (body, note) => steps.reduce((changed, step) => step(changed, note), body);
}
