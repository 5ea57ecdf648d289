/** What a request tells the upstreams of the soak: they find it in the text of its prompt. */
export interface Directive {
  /** Names the request; every word of its answer begins with it. */
  readonly tag: string;
  /** Words of the answer. */
  readonly words: number;
  /** Before each piece of a stream. */
  readonly pauseMs: number;
  /** Before the headers. */
  readonly delayMs: number;
  /** How an upstream that misbehaves does so. */
  readonly fault: string;
}

const FIND = /\[\[soak tag=(\w+) words=(\d+) pause=(\d+) delay=(\d+) fault=([\w-]+)\]\]/;

/** The directive as a part of a prompt. */
export function writeDirective({ tag, words, pauseMs, delayMs, fault }: Directive): string {
  return `[[soak tag=${tag} words=${words} pause=${pauseMs} delay=${delayMs} fault=${fault}]]`;
}

/** The directive that a request's body holds. */
export function readDirective(body: string): Directive {
  const [, tag = "none", words = "3", pause = "0", delay = "0", fault = "none"] = FIND.exec(body) ??
    [];
  return {
    tag,
    words: Number(words),
    pauseMs: Number(pause),
    delayMs: Number(delay),
    fault,
  };
}

/** The answer that the directive asks for. Callers check that they got theirs and nobody else's. */
export function answerText({ tag, words }: Directive): string {
  return Array.from({ length: words }, (_, at) => `${tag}.${at} `).join("");
}
