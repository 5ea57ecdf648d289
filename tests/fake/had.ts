/** Of roles and roles in teams, those that may more come first. */
const BEST: readonly string[] = ["operator", "lead", "finance", "member"];

/** A model of a role that providers' groups and people give: what an account has, and what of it came from groups. */
export class Had<Value extends string> {
  value: Value;
  readonly byProvider = new Map<string, Value>();
  readonly #nothing: Value;

  constructor(nothing: Value) {
    this.value = this.#nothing = nothing;
  }

  byHand(value: Value): void {
    this.value = value;
    this.byProvider.clear();
  }

  /** What groups of a provider give: nothing where somebody has given something by hand. */
  byGroups(provider: string, value: Value): void {
    if (this.value !== this.#nothing && this.byProvider.size === 0) return;
    const had = this.byProvider.delete(provider);
    if (value !== this.#nothing) this.byProvider.set(provider, value);
    if (!had && value === this.#nothing) return;
    const given = [...this.byProvider.values()];
    this.value = BEST.find((one): one is Value => given.includes(one as Value)) ?? this.#nothing;
  }
}
