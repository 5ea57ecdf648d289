import { CachedToken, type Token, type TokenTimes } from "./cached_token.ts";
import { type Credentials, withoutSecrets } from "./credentials.ts";

/** Puts a token into the headers of a request. */
export type Authorize = (token: string) => Readonly<Record<string, string>>;

/** As most services take a token. */
export const bearer: Authorize = (token) => ({ authorization: `Bearer ${token}` });

/**
 * As Azure takes what a program prints: a token of Entra ID (a JWT) as most services do, a key in a header of its own
 * (learn.microsoft.com, Azure OpenAI: authentication).
 *
 * @param header Name of the header for keys.
 */
export function bearerIfToken(header: string): Authorize {
  return (key) => /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? bearer(key) : { [header]: key };
}

/** Credentials that are a token which is the same for all requests while it lasts. */
export class BearerCredentials implements Credentials {
  readonly #token: CachedToken<Token>;
  readonly #authorize: Authorize;
  /** The last tokens, which a reply may repeat. */
  #before = "";

  constructor(
    get: () => Promise<Token>,
    { authorize, ...times }: TokenTimes & { readonly authorize: Authorize },
  ) {
    this.#token = new CachedToken(get, times);
    this.#authorize = authorize;
  }

  async headersFor(): Promise<Readonly<Record<string, string>>> {
    const { value } = await this.#token.token();
    return this.#authorize(value);
  }

  refused(headers: Readonly<Record<string, string>>): boolean {
    const { current } = this.#token;
    if (current !== undefined && isSame(headers, this.#authorize(current.value))) {
      this.#before = current.value;
      return this.#token.refused(current.value);
    }
    return this.#token.refused("");
  }

  redact(text: string): string {
    return withoutSecrets(text, [this.#token.current?.value, this.#before]);
  }
}

function isSame(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(other).every(([name, value]) => one[name] === value);
}
