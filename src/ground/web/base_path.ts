/** Attributes that lead somewhere or load something, with an absolute path of the gateway as their value. */
const LINKS = /( (?:href|src|action|formaction)=")(?=\/[^>/])/g;

/**
 * The path of the public URL, such as `/gateway`, below which a reverse proxy serves the gateway; empty at the root of a host.
 *
 * The only place that knows it: inside, all paths are those of a gateway at the root. The door takes the prefix off paths
 * that arrive with it, for proxies that pass it on and for those that do not, and what leaves for a browser gets it.
 */
export class BasePath {
  /** Without a slash at its end. */
  readonly path: string;

  /** @param publicUrl The setting, as it was validated. */
  constructor(publicUrl: string | undefined) {
    this.path = publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  }

  /** Returns a request's path without the prefix, once, if it begins with it. */
  strip(path: string): string {
    if (this.path === "" || !path.startsWith(this.path)) return path;
    const rest = path.slice(this.path.length);
    if (rest === "") return "/";
    return rest.startsWith("/") ? rest : path;
  }

  /** Returns where a path of the gateway is for a browser. Addresses of other hosts stay. */
  link(path: string): string {
    return path.startsWith("/") && !path.startsWith("//") ? `${this.path}${path}` : path;
  }

  /**
   * Puts the prefix before all paths that a page leads to.
   *
   * @param html What hono's JSX rendered: each `"` in it begins or ends an attribute's value, since those of texts and
   * values are escaped, and what follows the end of a value is a space, `>` or `/>`. So no text is taken for a link.
   */
  page(html: string): string {
    return this.path === "" ? html : html.replaceAll(LINKS, `$1${this.path}`);
  }
}
