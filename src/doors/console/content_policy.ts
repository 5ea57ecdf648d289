/**
 * The content security policy of all pages. Forbids inline scripts and styles, and anything from other hosts. Forms lead
 * to this console only, also by redirects: who is to pay at another host gets there by a page that leads on.
 */
export const CONTENT_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
