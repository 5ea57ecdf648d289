/** A browser with a jar of cookies, which runs no scripts and follows nothing by itself. */
export class JarBrowser {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly cookies = new Map<string, string>();

  /** @param headers Sent with every request. */
  constructor(origin: string, headers: Readonly<Record<string, string>> = {}) {
    this.#origin = origin;
    this.#headers = headers;
  }

  async open(path: string, init: RequestInit = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(path, this.#origin), {
      redirect: "manual",
      ...init,
      headers: { cookie, "sec-fetch-site": "same-origin", ...this.#headers, ...init.headers },
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!;
      if (value === "") this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return {
      status: response.status,
      location: response.headers.get("location"),
      retryAfter: response.headers.get("retry-after"),
      cookies: response.headers.getSetCookie(),
      text: await response.text(),
    };
  }

  /** Sends a form. */
  post(path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
    return this.open(path, { method: "POST", body: new URLSearchParams(fields), headers });
  }

  /** The token that the forms of the page Account carry. */
  async csrf(): Promise<string> {
    const { text } = await this.open("/console/account");
    return /name="csrf" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? "";
  }
}
