import { sleep, tempDir, until } from "./temp.ts";

/** A program in a terminal of its own, which reads what is typed and draws on a screen. */
export interface Terminal extends AsyncDisposable {
  /** What is on the screen, with single spaces. */
  screen(): string;
  /** Types a text, or a key. */
  type(text: string): Promise<void>;
  /** Waits until the screen shows it; answers the match. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Keys. */
export const ENTER = "\r";
export const ESCAPE = "\x1b";
export const UP = "\x1b[A";
const ROWS = 60;
const COLUMNS = 140;
/** Between keys: several at once are taken for a text that is pasted. */
const KEY_MS = 50;

/** A home directory for programs of a terminal, gone when they write to it no more: some go on for a while after they have ended. */
export async function tempHome(): Promise<{ path: string } & AsyncDisposable> {
  const { path } = await tempDir();
  const isGone = () => Deno.remove(path, { recursive: true }).then(() => true, () => false);
  return { path, [Symbol.asyncDispose]: () => until(isGone, { what: "an empty home" }) };
}

/**
 * Starts a program in a terminal, by `script` (util-linux). Disposing ends it.
 *
 * @param command For the shell.
 */
export function startTerminal(
  command: string,
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string> },
): Terminal {
  const child = new Deno.Command("script", {
    args: ["-qfec", `stty rows ${ROWS} cols ${COLUMNS}; exec ${command}`, "/dev/null"],
    cwd,
    clearEnv: true,
    env: { ...env, TERM: "xterm-256color" },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = child.stdin.getWriter();
  const shown = new Screen();
  const reading = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeTo(new WritableStream({ write: (piece) => shown.draw(piece) }));
  const screen = () => shown.text.replaceAll(/\s+/g, " ");
  return {
    screen,
    async type(typed) {
      const keys = typed.startsWith(ESCAPE) ? [typed] : typed;
      for (const key of keys) {
        await input.write(new TextEncoder().encode(key));
        await sleep(KEY_MS);
      }
    },
    async shows(pattern) {
      let found: RegExpExecArray | null = null;
      await until(() => (found = pattern.exec(screen())) !== null, { what: String(pattern) })
        .catch((error) => {
          throw new Error(`${error.message}; the screen is:\n${shown.text}`);
        });
      return found!;
    },
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      try {
        child.kill("SIGKILL");
      } catch {
        // it has ended
      }
      await child.status;
      await reading.catch(() => {});
    },
  };
}

/** What one piece of output is: a control sequence (ECMA-48), a title, another escape, a control character, or text. */
const PIECE =
  // deno-lint-ignore no-control-regex -- escape sequences begin with control characters
  /\x1b\[([0-9;?<>=!]*)[ -/]*([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*([0-~])|([\x00-\x1f\x7f])|([^\x00-\x1f\x7f])/gsu;
// deno-lint-ignore no-control-regex -- see above
const CUT_OFF = /\x1b(?:\[[0-9;?<>=! -/]*|\][^\x07\x1b]*|[PX^_][^\x1b]*)?\x1b?$/;

/** The screen of a terminal, as far as programs of tests use one. */
class Screen {
  #lines: string[][] = [];
  #row = 0;
  #column = 0;
  #saved: [number, number] = [0, 0];
  #rest = "";

  get text(): string {
    return Array.from(this.#lines, (line = []) => Array.from(line, (one) => one ?? " ").join(""))
      .join("\n");
  }

  draw(piece: string): void {
    const all = this.#rest + piece;
    this.#rest = CUT_OFF.exec(all)?.[0] ?? "";
    for (const part of all.slice(0, all.length - this.#rest.length).matchAll(PIECE)) {
      const [, numbers, final, escape, control, text] = part;
      if (text !== undefined) this.#put(text);
      else if (control !== undefined) this.#control(control);
      else if (final !== undefined) this.#sequence(final, numbers!);
      else if (escape === "7") this.#saved = [this.#row, this.#column];
      else if (escape === "8") [this.#row, this.#column] = this.#saved;
    }
  }

  #put(text: string): void {
    if (this.#column >= COLUMNS) {
      this.#column = 0;
      this.#down();
    }
    (this.#lines[this.#row] ??= [])[this.#column++] = text;
  }

  #control(control: string): void {
    if (control === "\r") this.#column = 0;
    else if (control === "\n") this.#down();
    else if (control === "\b") this.#column = Math.max(0, this.#column - 1);
    else if (control === "\t") this.#column = (Math.floor(this.#column / 8) + 1) * 8;
  }

  #down(): void {
    if (++this.#row < ROWS) return;
    this.#row = ROWS - 1;
    this.#lines.shift();
  }

  #sequence(final: string, numbers: string): void {
    if (numbers.startsWith("?")) {
      if (final === "h" && numbers === "?1049") this.#lines = [];
      return;
    }
    const [first = 0, second = 0] = numbers.split(";").map(Number);
    const by = Math.max(1, first);
    const line = this.#lines[this.#row] ??= [];
    if (final === "A") this.#row = Math.max(0, this.#row - by);
    else if (final === "B") this.#row = Math.min(ROWS - 1, this.#row + by);
    else if (final === "C") this.#column = Math.min(COLUMNS - 1, this.#column + by);
    else if (final === "D") this.#column = Math.max(0, this.#column - by);
    else if (final === "E") [this.#row, this.#column] = [Math.min(ROWS - 1, this.#row + by), 0];
    else if (final === "F") [this.#row, this.#column] = [Math.max(0, this.#row - by), 0];
    else if (final === "G") this.#column = by - 1;
    else if (final === "d") this.#row = Math.min(ROWS, by) - 1;
    else if (final === "H" || final === "f") {
      [this.#row, this.#column] = [Math.min(ROWS, by) - 1, Math.max(1, second) - 1];
    } else if (final === "J") this.#erase(first);
    else if (final === "K" && first === 0) line.length = Math.min(line.length, this.#column);
    else if (final === "K") line.length = 0;
    else if (final === "X") line.fill(" ", this.#column, this.#column + by);
    else if (final === "P") line.splice(this.#column, by);
    else if (final === "@") line.splice(this.#column, 0, ...Array(by).fill(" "));
    else if (final === "M") this.#lines.splice(this.#row, by);
    else if (final === "L") {
      this.#lines.splice(this.#row, 0, ...Array.from({ length: by }, () => []));
    }
  }

  #erase(what: number): void {
    if (what >= 2) this.#lines = [];
    else if (what === 0) {
      this.#lines.length = Math.min(this.#lines.length, this.#row + 1);
      const line = this.#lines[this.#row];
      if (line !== undefined) line.length = Math.min(line.length, this.#column);
    }
  }
}
