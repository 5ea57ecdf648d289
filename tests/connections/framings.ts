import { CHAT_KINDS } from "./chats.ts";
import { BODY_KINDS } from "./http1_bodies.ts";
import { HEAD_KINDS } from "./http1_heads.ts";
import { HTTP2_KINDS } from "./http2.ts";
import type { Kind } from "./steps.ts";
import { WEB_SOCKET_KINDS } from "./web_sockets.ts";

/** All that an attacker may send. A new way to frame something is a row in one of these tables. */
export const KINDS: readonly Kind[] = [
  ...BODY_KINDS,
  ...HEAD_KINDS,
  ...HTTP2_KINDS,
  ...WEB_SOCKET_KINDS,
  ...CHAT_KINDS,
];
