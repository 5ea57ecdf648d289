import type { CommandContext } from "./context.ts";

/** Progress indicator of long work. */
export interface Progress extends Disposable {
  /** Shows progress: a fraction from 0 to 1, or the current step. */
  readonly tell: (done: number | string) => void;
  /** Clears the line. */
  end(): void;
}

const WIDTH = 24;
const CLEAR_LINE = "\r\x1b[K";

/** Shows progress in one line on standard error, which is overwritten; shows nothing without a terminal. */
export function progress({ err, colour }: CommandContext, what: string): Progress {
  let shown = false;
  const end = () => {
    if (shown) err(CLEAR_LINE);
    shown = false;
  };
  return {
    tell(done) {
      if (!colour) return;
      shown = true;
      err(`${CLEAR_LINE}${what} ${typeof done === "string" ? done : bar(done)}`);
    },
    end,
    [Symbol.dispose]: end,
  };
}

function bar(part: number): string {
  const full = Math.round(part * WIDTH);
  return `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(part * 100)} %`;
}
