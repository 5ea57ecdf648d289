/**
 * The generate dialect of Google's Gemini API and Vertex AI, as upstreams speak it: `generateContent` and `streamGenerateContent`. It has
 * no front: whatever a client speaks is translated.
 *
 * Promise: text, thoughts with their signatures, calls and usage arrive whole; what the dialect has no place for is named.
 * Leaves to others: what other dialects make of it; nothing in here knows one.
 *
 * @module
 */

export { generateBack } from "./back.ts";
