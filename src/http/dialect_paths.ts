import { chatDialect, type Dialect, messagesDialect } from "../dialects/mod.ts";

/** Where requests of each dialect are sent. */
export const DIALECT_PATHS: readonly (readonly [path: string, dialect: Dialect])[] = [
  ["/v1/chat/completions", chatDialect],
  ["/v1/messages", messagesDialect],
];

/** The dialect that errors at a path have: that of the path itself or of one above it, and chat everywhere else. */
export function dialectAt(path: string): Dialect {
  for (const [above, dialect] of DIALECT_PATHS) {
    if (path === above || path.startsWith(`${above}/`)) return dialect;
  }
  return chatDialect;
}
