import * as z from "zod";
import { trustedHost } from "./hosts.ts";
import { proxySetting } from "./proxy_settings.ts";
import { limit, timeLimit } from "./values.ts";

/** Schema of the limits on images. */
export const imageSettings = z.strictObject({
  maxBytes: limit(6 * 1_048_576, "Maximum size of one image, decoded, in bytes."),
  maxEncodedChars: limit(8 * 1_048_576, "Maximum base64 characters of all images of a request."),
  maxPixels: limit(100_000_000, "Maximum width times height of one image."),
  allowPrivateHosts: z.array(trustedHost).default([]).describe(
    "Hosts (host or host:port) that images may be fetched from although private, and on any port.",
  ),
  ports: z.array(z.int().min(1).max(65_535)).default([]).describe(
    "Allowed ports of public hosts besides 80 and 443.",
  ),
  proxy: proxySetting.optional().describe(
    "Proxy that images are fetched through, by tunnels to addresses that Sluice has checked. Treated as a secret. Default: none, " +
      "whatever `proxies` and the environment say.",
  ),
  connectMs: timeLimit(5_000, "Maximum time to connect to an image's host."),
  totalMs: timeLimit(20_000, "Maximum time to fetch one image, including DNS and redirects."),
  maxImages: limit(100, "Maximum number of images in one request."),
  waitMs: timeLimit(10_000, "Maximum time an image waits for a free download slot."),
  fetchesPerRequest: limit(4, "Maximum concurrent image downloads of one request."),
  fetches: limit(16, "Maximum concurrent image downloads of the gateway."),
});

/** Schema of the limits on requests and connections. */
export const limitSettings = z.strictObject({
  bodyBytes: limit(64 * 1_048_576, "Maximum size of one request body, in bytes."),
  bodyIdleMs: timeLimit(30_000, "Maximum time between two chunks of a request body."),
  bodyMs: timeLimit(900_000, "Maximum time for a whole request body."),
  bodyMinBytesPerSecond: z.int().nonnegative().default(1_024).describe(
    "Minimum average speed of a request body once `bodyIdleMs` has passed.",
  ),
  bodyDepth: z.int().positive().max(200).default(100).describe(
    "Maximum nesting depth of arrays and objects in a request body.",
  ),
  bodyValues: limit(200_000, "Maximum number of JSON values in a request body."),
  bodyKeys: limit(10_000, "Maximum number of keys in one object of a request body."),
  unbilledBytesPerMinute: limit(
    256 * 1_048_576,
    "Maximum bytes of rejected request bodies and count_tokens requests per API key and minute.",
  ),
  adminRequestsPerMinute: limit(
    600,
    "Maximum number of requests to `/admin/v1` per account and minute.",
  ),
  largeBodiesBytes: limit(
    256 * 1_048_576,
    "Memory budget (bytes) for large bodies and fetched images in progress; further ones wait " +
      "up to `bodyIdleMs`.",
  ),
  memoryBytes: z.int().min(128 * 1_048_576).optional().describe(
    "Resident memory (bytes) above which requests to models are rejected with 503 until it is free again. Default: 85 % of what " +
      "the system allows the process: the limit of its control group, or else the machine's memory.",
  ),
  openRequests: z.int().positive().optional().describe(
    "Maximum number of in-flight API requests. Default: derived from the open file limit, " +
      "up to 16,384.",
  ),
  openRequestsPerKey: z.int().positive().optional().describe(
    "Maximum number of in-flight API requests of one API key. Default: the account's share.",
  ),
  accountShare: z.number().gt(0).max(1).default(0.5).describe(
    "Fraction of each shared resource (`openRequests`, `largeBodiesBytes`, `images.fetches`) " +
      "that one account may use.",
  ),
  idleConnectionMs: timeLimit(
    120_000,
    "Idle time after which a client connection without a request is closed; ten times that while " +
      "the client has not read everything it was sent. Linux only.",
  ),
  pingMs: timeLimit(15_000, "Idle time of a stream after which the client is sent a ping."),
  countsPerMinute: limit(600, "Maximum count_tokens requests per API key and minute."),
  followMs: timeLimit(
    60_000,
    "Maximum time to wait for the upstream's usage after a client disconnects " +
      '(`onClientDisconnect: "drain"`).',
  ),
  followedReplies: z.int().nonnegative().default(16).describe(
    "Maximum number of replies of one account that are read on after its clients have disconnected, in each worker; " +
      'further ones end as with `onClientDisconnect: "abort"`.',
  ),
  holdLeaseMs: timeLimit(
    60_000,
    "Time after which the holds of a crashed gateway's requests are released.",
  ),
  drainMs: timeLimit(30_000, "Maximum time for in-flight requests to finish at shutdown."),
});

/** Schema of the limits on responses of upstreams. */
export const replySettings = z.strictObject({
  bytes: limit(32 * 1_048_576, "Maximum size of an upstream's non-streamed response, in bytes."),
  values: limit(500_000, "Maximum number of JSON values in a non-streamed response."),
  streamBytes: limit(256 * 1_048_576, "Maximum size of a streamed response, decoded, in bytes."),
  events: limit(2_000_000, "Maximum number of events in a stream."),
  eventValues: limit(20_000, "Maximum number of JSON values in one event."),
  silentBytes: limit(
    16_777_216,
    "Maximum number of bytes between two events: comments, or an event that is incomplete.",
  ),
});

/** Schema of what the responses dialect keeps, and for how long. */
export const responsesSettings = z.strictObject({
  keepItemsMs: z.int().nonnegative().max(3_600_000).default(3_600_000).describe(
    "Time for which a client can refer to an item of a reply by its ID (`item_reference`); 0 keeps none. Items of requests " +
      "with `store: false`, and prompts, are never kept.",
  ),
  socketIdleMs: timeLimit(
    600_000,
    "Time without a response after which a WebSocket of GET /v1/responses is closed.",
  ),
  socketMs: timeLimit(
    3_600_000,
    "Maximum time that such a WebSocket stays open; a response in progress is finished.",
  ),
  sockets: z.int().positive().optional().describe(
    "Maximum number of open WebSockets; one account may have `limits.accountShare` of them. Default: a quarter of the limit " +
      "of in-flight requests.",
  ),
  socketsPerKey: limit(16, "Maximum number of open WebSockets of one API key."),
});
