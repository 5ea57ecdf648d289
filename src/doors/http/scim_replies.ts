import type { HonoRequest } from "@hono/hono";
import type { Attributes, DirectoryGroup } from "../../people/scim/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";

const MEDIA_TYPE = "application/scim+json";
const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";
const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** A reply with a resource, a list or what describes them. */
export function reply(
  body: unknown,
  { status = STATUS_CODE.OK, headers = {} }: {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": MEDIA_TYPE, "cache-control": "no-store", ...headers },
  });
}

/** A reply that says what is wrong (RFC 7644, section 3.12). */
export function errorReply(
  status: number,
  detail: string,
  { scimType, retryAfterMs }: {
    readonly scimType?: string | undefined;
    readonly retryAfterMs?: number | undefined;
  },
): Response {
  const waitS = Math.max(1, Math.ceil((retryAfterMs ?? 2_000) / 1_000));
  const isPassing = status === STATUS_CODE.TooManyRequests ||
    status === STATUS_CODE.ServiceUnavailable;
  return reply({
    schemas: [ERROR_SCHEMA],
    status: String(status),
    scimType,
    detail,
  }, {
    status,
    headers: {
      ...(isPassing && { "retry-after": String(waitS) }),
      ...(status === STATUS_CODE.Unauthorized && { "www-authenticate": "Bearer" }),
    },
  });
}

/** A reply with one resource, its address and version. */
export function resourceReply(
  request: Pick<HonoRequest, "method" | "header">,
  body: Attributes,
  { base, id, version, at, status }: {
    readonly base: string;
    readonly id: string;
    readonly version: number;
    readonly at: "Users" | "Groups";
    readonly status: number;
  },
): Response {
  const etag = etagOf(version);
  const headers = { etag, location: `${base}/${at}/${id}` };
  if (request.method === "GET" && request.header("if-none-match") === etag) {
    return new Response(null, { status: STATUS_CODE.NotModified, headers });
  }
  return reply(body, { status, headers });
}

/** A page of a list (RFC 7644, section 3.4.2). */
export function listOf(resources: readonly unknown[], total: number, startIndex: number) {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

/** What a resource says of itself. */
export function metaOf(
  resourceType: string,
  { createdAtMs, changedAtMs, version }: Pick<
    DirectoryGroup,
    "createdAtMs" | "changedAtMs" | "version"
  >,
  location: string,
) {
  return {
    resourceType,
    created: new Date(createdAtMs).toISOString(),
    lastModified: new Date(changedAtMs).toISOString(),
    location,
    version: etagOf(version),
  };
}

/** The version of a resource as HTTP has it. */
export function etagOf(version: number): string {
  return `W/"${version}"`;
}
