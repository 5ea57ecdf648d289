/**
 * Writes the content security policy of a page. Forbids inline scripts and styles, and anything from other hosts.
 *
 * @param origins Other origins that a form of the page may lead to.
 */
export function contentPolicy(origins: readonly string[]): string {
  return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
    `connect-src 'self'; form-action ${["'self'", ...origins].join(" ")}; base-uri 'none'; ` +
    "frame-ancestors 'none'";
}
