/** Spellings of time zones of which formats are kept: more than there are zones, but users may write each in many ways. */
const MAX_ZONES = 1_000;

/** Formats of times by zone. Making one takes as long as formatting a hundred times, so that they are kept. */
export class ZoneFormats {
  readonly #locale: string;
  readonly #options: Intl.DateTimeFormatOptions;
  readonly #formats = new Map<string, Intl.DateTimeFormat>();

  /**
   * @param locale A BCP 47 tag, such as `en-US`.
   * @param options What is shown of a time, without a zone.
   */
  constructor(locale: string, options: Omit<Intl.DateTimeFormatOptions, "timeZone">) {
    this.#locale = locale;
    this.#options = options;
  }

  /**
   * Returns the format of a zone.
   *
   * @param zone A name of the IANA database.
   * @throws {RangeError} If there is no such zone.
   */
  of(zone: string): Intl.DateTimeFormat {
    let format = this.#formats.get(zone);
    if (format === undefined) {
      format = new Intl.DateTimeFormat(this.#locale, { ...this.#options, timeZone: zone });
      if (this.#formats.size >= MAX_ZONES) this.#formats.clear();
      this.#formats.set(zone, format);
    }
    return format;
  }
}
