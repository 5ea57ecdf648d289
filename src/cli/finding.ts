/** One thing that `sluice doctor` looked at. */
export interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do about it. */
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
