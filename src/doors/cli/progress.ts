import type { CommandContext } from "./context.ts";

/** Progress of long work, for a person who waits. */
interface Progress extends Disposable {
  /** Says how much is done: a part from 0 to 1, or what is being done. */
  readonly tell: (done: number | string) => void;
  /** Takes the line away. */
  end(): void;
}

const WIDTH = 24;
const CLEAR_LINE = "\r\x1b[K";

/** One line on standard error that is written over; nothing where no terminal is. */
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
