/** One thing that was looked at, by a command or a page that looks for what is wrong. */
export interface Finding {
  /** A word or two. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  /** What was found. */
  readonly detail: string;
  /** What to do about it, if it is not ok. */
  readonly advice?: string;
}

/** Something that is as it should be. */
export function ok(check: string, detail: string): Finding {
  return { check, state: "ok", detail };
}

/** Something that may be wrong. */
export function warning(check: string, detail: string, advice: string): Finding {
  return { check, state: "warning", detail, advice };
}

/** Something that does not work. */
export function failed(check: string, detail: string, advice: string): Finding {
  return { check, state: "failed", detail, advice };
}
