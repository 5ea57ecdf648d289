/**
 * How an order's checkout was asked for. The payment service takes the same call again only with the same parameters, and
 * after a crash, or at another gateway, these would be others.
 */
export const CHECKOUT_OPTIONS = [
  // JSON: `returnTo`, `email` and `savesMethod`; null until the checkout is asked for
  `alter table orders add column checkout_options text`,
];
