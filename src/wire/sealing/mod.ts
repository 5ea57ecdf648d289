/**
 * Seals what clients keep for the gateway between two requests: earlier reasoning and summaries of conversations.
 *
 * Promise: a sealed text can be neither read nor changed, and only the account that it was made for can return it.
 * Leaves to others: what is sealed, and what becomes of a text that cannot be opened.
 *
 * @module
 */

export { BoundCipher } from "./bound_cipher.ts";
export { copySealKey, sealKey } from "./seal_key.ts";
export { Sealing } from "./sealing.ts";
