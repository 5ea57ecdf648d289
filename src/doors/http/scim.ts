import { type Context, Hono } from "@hono/hono";
import type { KeyRing, Keys } from "../../people/accounts/mod.ts";
import { asOperationError, type By, keyActor } from "../../people/operation_log/mod.ts";
import {
  type Attributes,
  Directory,
  type DirectoryGroup,
  ENTERPRISE_SCHEMA,
  GROUP_SCHEMA,
  isObject,
  parseFilter,
  patched,
  projected,
  replaced,
  ScimError,
  USER_SCHEMA,
  valueOf,
} from "../../people/scim/mod.ts";
import {
  type ChangedBy,
  GroupProvisioning,
  type ProvisionedUser,
  UserProvisioning,
  type UserProvisioningParts,
} from "../../operating/provisioning/mod.ts";
import { refusalOf } from "../../ground/database/mod.ts";
import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { readText, type Visitor } from "../../ground/web/mod.ts";
import { jsonIn } from "../../ground/platform/mod.ts";
import { jsonExcess } from "../../wire/json/mod.ts";
import { keyFor } from "./key_for.ts";
import { pathOf } from "./request_line.ts";
import { MAX_PAGE, RESOURCE_TYPES, SCHEMAS, SERVICE_PROVIDER } from "./scim_discovery.ts";
import { SCIM_BASE } from "./scim_path.ts";
import { errorReply, etagOf, listOf, metaOf, reply, resourceReply } from "./scim_replies.ts";

/** Dependencies of {@linkcode Scim}. */
export interface ScimParts extends UserProvisioningParts {
  readonly keyRing: KeyRing;
  readonly keys: Keys;
  /** Requests of each account per minute. */
  readonly rate: RateLimit;
}

const MAX_BODY_BYTES = 1_024 * 1_024;
const BODY_MS = 10_000;
const JSON_BOUNDS = { depth: 20, values: 200_000, members: 1_000 };
const DEFAULT_PAGE = 100;
const CREATED = 201;
const MAX_NAMES = 100;

interface Env {
  Bindings: { readonly visitor: Visitor; readonly base: string };
  Variables: { by: By };
}
type ScimRequest = Context<Env>;

/** The API by which a company's directory sends people and groups: SCIM 2.0 (RFC 7644). */
export class Scim {
  readonly #parts: ScimParts;
  readonly #directory: Directory;
  readonly #users: UserProvisioning;
  readonly #groups: GroupProvisioning;
  readonly #hono: Hono<Env>;

  constructor(parts: ScimParts) {
    this.#parts = parts;
    this.#directory = new Directory(parts.database);
    this.#users = new UserProvisioning(parts);
    this.#groups = new GroupProvisioning(parts);
    this.#hono = this.#routes();
  }

  /**
   * Handles a request. Never rejects: errors become responses.
   *
   * @param base Address of the gateway as the directory knows it, with the path of the public URL.
   */
  async fetch(request: Request, { visitor, base }: Env["Bindings"]): Promise<Response> {
    return await this.#hono.fetch(request, { visitor, base: `${base}${SCIM_BASE}` });
  }

  #routes(): Hono<Env> {
    const app = new Hono<Env>({ getPath: ({ url }) => pathOf(url) });
    app.use(async (c, next) => {
      const { account, key } = await keyFor(c.req.raw, {
        ...this.#parts,
        scopes: ["scim"],
        rateOf: "scim ",
      });
      const { address } = c.env.visitor;
      c.set("by", { actor: keyActor(account, key.id), origin: { door: "api", address } });
      await next();
    });
    const at = (path: string) => `${SCIM_BASE}${path}`;
    app.get(at("/ServiceProviderConfig"), () => reply(SERVICE_PROVIDER));
    for (const [path, all] of [["ResourceTypes", RESOURCE_TYPES], ["Schemas", SCHEMAS]] as const) {
      app.get(at(`/${path}`), () => reply(listOf(all, all.length, 1)));
      app.get(at(`/${path}/:id`), (c) => {
        const found = all.find(({ id }) => id === c.req.param("id"));
        if (found === undefined) throw new ScimError(404, "Not found.");
        return reply(found);
      });
    }
    this.#userRoutes(app, at);
    this.#groupRoutes(app, at);
    app.notFound((c) => this.#fail(new ScimError(404, `Unknown endpoint ${c.req.method}.`)));
    app.onError((error) => this.#fail(error));
    return app;
  }

  #userRoutes(app: Hono<Env>, at: (path: string) => string): void {
    const provisioning = this.#users;
    app.get(at("/Users"), async (c) => {
      const part = partOf(c);
      const { total, items } = await this.#directory.users(part);
      const accounts = await this.#parts.accounts.byIds(items.map(({ accountId }) => accountId));
      const users = items.map((user) => ({ user, account: accounts.get(user.accountId)! }));
      return reply(listOf(await this.#shownUsers(c, users), total, part.offset + 1));
    });
    app.post(at("/Users"), async (c) => {
      const made = await provisioning.createUser(await bodyOf(c), c.var.by);
      return await this.#userReply(c, made, CREATED);
    });
    app.get(
      at("/Users/:id"),
      async (c) => await this.#userReply(c, await provisioning.user(idOf(c))),
    );
    app.put(at("/Users/:id"), async (c) => {
      const body = await bodyOf(c);
      const edit = (before: Attributes) => replaced(before, body);
      return await this.#userReply(c, await provisioning.changeUser(idOf(c), edit, changeOf(c)));
    });
    app.patch(at("/Users/:id"), async (c) => {
      const operations = valueOf(await bodyOf(c), "Operations");
      const edit = (before: Attributes) => patched(before, operations);
      return await this.#userReply(c, await provisioning.changeUser(idOf(c), edit, changeOf(c)));
    });
    app.delete(at("/Users/:id"), async (c) => {
      await provisioning.deleteUser(idOf(c), changeOf(c));
      return new Response(null, { status: STATUS_CODE.NoContent });
    });
  }

  #groupRoutes(app: Hono<Env>, at: (path: string) => string): void {
    const provisioning = this.#groups;
    app.get(at("/Groups"), async (c) => {
      const part = partOf(c);
      const { total, items } = await this.#directory.groups(part);
      return reply(listOf(await this.#shownGroups(c, items), total, part.offset + 1));
    });
    app.post(at("/Groups"), async (c) => {
      const id = await provisioning.createGroup(await bodyOf(c), c.var.by);
      return await this.#groupReply(c, id, CREATED);
    });
    app.get(at("/Groups/:id"), async (c) => await this.#groupReply(c, idOf(c)));
    app.put(at("/Groups/:id"), async (c) => {
      const body = await bodyOf(c);
      await provisioning.changeGroup(idOf(c), () => body, changeOf(c));
      return await this.#groupReply(c, idOf(c));
    });
    app.patch(at("/Groups/:id"), async (c) => {
      const operations = valueOf(await bodyOf(c), "Operations");
      await provisioning.changeGroup(
        idOf(c),
        (before) => patched(before, operations),
        changeOf(c),
      );
      return await this.#groupReply(c, idOf(c));
    });
    app.delete(at("/Groups/:id"), async (c) => {
      await provisioning.deleteGroup(idOf(c), changeOf(c));
      return new Response(null, { status: STATUS_CODE.NoContent });
    });
  }

  async #userReply(c: ScimRequest, one: ProvisionedUser, status: number = STATUS_CODE.OK) {
    const [shown] = await this.#shownUsers(c, [one]);
    return resourceReply(c.req, shown!, { base: c.env.base, at: "Users", status, ...one.user });
  }

  async #groupReply(c: ScimRequest, id: string, status: number = STATUS_CODE.OK) {
    const group = await this.#groups.group(id);
    const [shown] = await this.#shownGroups(c, [group]);
    return resourceReply(c.req, shown!, { base: c.env.base, at: "Groups", status, ...group });
  }

  async #shownUsers(c: ScimRequest, users: readonly ProvisionedUser[]): Promise<Attributes[]> {
    const groups = await this.#directory.groupsOf(users.map(({ user }) => user.id));
    const { base } = c.env;
    return users.map(({ user, account }) => {
      const hasExtension = Object.hasOwn(user.attributes, ENTERPRISE_SCHEMA);
      return projected({
        schemas: hasExtension ? [USER_SCHEMA, ENTERPRISE_SCHEMA] : [USER_SCHEMA],
        id: user.id,
        ...(user.externalId !== null && { externalId: user.externalId }),
        userName: user.userName,
        ...user.attributes,
        active: account.disabledAtMs === null,
        groups: (groups.get(user.id) ?? []).map(({ id, displayName }) => ({
          value: id,
          display: displayName,
          $ref: `${base}/Groups/${id}`,
        })),
        meta: metaOf("User", user, `${base}/Users/${user.id}`),
      }, wantedOf(c));
    });
  }

  async #shownGroups(c: ScimRequest, groups: readonly DirectoryGroup[]): Promise<Attributes[]> {
    const { base } = c.env;
    const wanted = wantedOf(c);
    // who asks whether a group is there does not want its thousands of members
    const hasMembers = projected({ members: [{ value: "", display: "", $ref: "" }] }, wanted)
      .members !== undefined;
    const members = hasMembers
      ? await this.#directory.membersOf(groups.map(({ id }) => id))
      : undefined;
    return groups.map((group) =>
      projected({
        schemas: [GROUP_SCHEMA],
        id: group.id,
        ...(group.externalId !== null && { externalId: group.externalId }),
        displayName: group.displayName,
        members: (members?.get(group.id) ?? []).map(({ id, userName }) => ({
          value: id,
          display: userName,
          $ref: `${base}/Users/${id}`,
        })),
        meta: metaOf("Group", group, `${base}/Groups/${group.id}`),
      }, wanted)
    );
  }

  #fail(error: Error): Response {
    const { log } = this.#parts;
    if (error instanceof ScimError) {
      log.info("SCIM request refused", { status: error.status, reason: error.scimType ?? "" });
      return errorReply(error.status, error.message, { scimType: error.scimType });
    }
    const failure = asOperationError(error);
    if (failure !== undefined) {
      log.info("SCIM request refused", { status: failure.status, reason: failure.code });
      const scimType = failure.status === STATUS_CODE.BadRequest ? "invalidValue" : undefined;
      return errorReply(failure.status, failure.message, { scimType });
    }
    const { status, message, reason, retryAfterMs, cause } = refusalOf(error);
    if (status >= STATUS_CODE.InternalServerError) {
      const thrown = cause instanceof Error ? cause : error;
      log.error("SCIM request failed", { error: thrown.stack ?? thrown.message, status });
    } else log.info("SCIM request refused", { status, reason });
    return errorReply(status, message, { retryAfterMs });
  }
}

/** Who changes something, and which version of it. */
function changeOf(c: ScimRequest): ChangedBy {
  const wanted = c.req.header("if-match");
  return {
    by: c.var.by,
    ifMatch: (version) =>
      wanted === undefined || wanted === "*" || wanted.split(/\s*,\s*/).includes(etagOf(version)),
  };
}

function idOf(c: ScimRequest): string {
  return c.req.param("id") ?? "";
}

function partOf(c: ScimRequest) {
  const filter = c.req.query("filter");
  const number = (name: string, otherwise: number) => {
    const text = c.req.query(name);
    if (text === undefined || text === "") return otherwise;
    if (/^[+-]?\d{1,9}$/.test(text)) return Number(text);
    throw new ScimError("invalidValue", `${name} must be a whole number.`);
  };
  return {
    terms: filter === undefined || filter === "" ? [] : parseFilter(filter),
    offset: Math.max(1, number("startIndex", 1)) - 1,
    limit: Math.min(MAX_PAGE, Math.max(0, number("count", DEFAULT_PAGE))),
  };
}

function wantedOf(c: ScimRequest) {
  const names = (query: string) =>
    c.req.query(query)?.split(",", MAX_NAMES).map((name) => name.trim())
      .filter((name) => name !== "");
  const only = names("attributes");
  return { only: only?.length === 0 ? undefined : only, without: names("excludedAttributes") };
}

async function bodyOf(c: ScimRequest): Promise<Attributes> {
  const refused = (why: string) => new ScimError("invalidSyntax", `The request body ${why}.`);
  const bounds = { maxBytes: MAX_BODY_BYTES, maxMs: BODY_MS };
  const text = await readText(c.req.raw, bounds, (isTooLong) =>
    refused(
      isTooLong
        ? `is too large: the limit is ${MAX_BODY_BYTES / 1_024} KiB`
        : "was not received in full",
    ));
  if (jsonExcess(text, JSON_BOUNDS) !== undefined) throw refused("has too many values or levels");
  const body = jsonIn(text);
  if (body === undefined) throw refused("is not valid JSON");
  if (!isObject(body)) throw refused("must be a JSON object");
  return body;
}
