/** Follows JSON text in constant memory, to tell when its value is complete. */
export class JsonProgress {
  #depth = 0;
  inString = false;
  #escaped = false;
  complete = false;

  add(text: string): void {
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (this.#escaped) this.#escaped = false;
      else if (this.inString) {
        if (code === 92) this.#escaped = true;
        else if (code === 34) this.inString = false;
      } else if (code === 34) this.inString = true;
      else if (code === 123 || code === 91) this.#depth++;
      else if ((code === 125 || code === 93) && --this.#depth === 0) this.complete = true;
    }
  }
}
