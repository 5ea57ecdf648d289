/** What reading LiteLLM's settings needs of yaml; a module of its own, so that the executable can load it when needed. */

export { LineCounter, parseDocument } from "yaml";
