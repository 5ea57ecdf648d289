/**
 * Values that come and go all the time, as what belongs to running requests does.
 *
 * In place of a `Set` or a `Map`, since those keep what has left them: their table is copied now and
 * then, and the copy that was given up points to the next. V8's quick collections of garbage
 * (scavenges) take whatever is old for alive, so once one copy is old, each later copy and all that
 * was in it stay until the next full collection.
 */
export class SlotMap<Value extends object | string> {
  readonly #values: (Value | undefined)[] = [];
  readonly #free: number[] = [];

  /** How many there are. */
  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** Puts a value in; answers its place, which another has once it is taken out. */
  add(value: Value): number {
    const place = this.#free.pop() ?? this.#values.length;
    this.#values[place] = value;
    return place;
  }

  /**
   * Takes out what is in a place.
   *
   * @param value Taken out only if it is this one.
   * @returns It; undefined when nothing was taken out.
   */
  take(place: number, value = this.#values[place]): Value | undefined {
    if (value === undefined || this.#values[place] !== value) return undefined;
    this.#values[place] = undefined;
    this.#free.push(place);
    return value;
  }

  /** Visits each, in no order; what is added meanwhile may be visited too. */
  forEach(visit: (value: Value, place: number) => void): void {
    for (let place = 0; place < this.#values.length; place++) {
      const value = this.#values[place];
      if (value !== undefined) visit(value, place);
    }
  }

  /** All of them, in no order. */
  all(): Value[] {
    return this.#values.filter((value) => value !== undefined);
  }

  /** Takes all out; answers them. */
  clear(): Value[] {
    const all = this.all();
    this.#values.length = 0;
    this.#free.length = 0;
    return all;
  }
}
