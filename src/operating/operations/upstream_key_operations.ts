import * as z from "zod";
import {
  checkUpstreamKey,
  UpstreamKeyCipher,
  upstreamKeyHint,
  upstreamKeyId,
  type UpstreamKeyOwner,
} from "../../people/accounts/mod.ts";
import { invalid, may, missing, OperationError } from "../../people/operation_log/mod.ts";
import {
  checksKeys,
  configuredUpstreams,
  KEY_REJECTED,
  probeOwnKey,
  takesKeys,
} from "../../requests/upstreams/mod.ts";
import {
  accountInput,
  accountOf,
  mustNameOne,
  pageAfter,
  pageInput,
  teamInput,
  teamOf,
} from "./lookup.ts";
import { defineRead, defineWrite, type Found, type OperationContext } from "./operation.ts";
import { type Subject, toSetOwnKey } from "./rights.ts";
import { describeUpstreamKey, upstreamKeyShape } from "./shapes/upstream_key.ts";

const TEST_MS = 5_000;

const ownerInput = {
  account: accountInput.optional().describe("The account that the key belongs to."),
  team: teamInput.optional().describe("The team that the key belongs to."),
};

/** A key of an owner at an upstream, whether it is there or not. */
interface OwnKeyPlace {
  readonly owner: UpstreamKeyOwner;
  readonly upstream: string;
}

/** What a write of the key of an account or a team is about. */
function placed({ account, team }: Subject, upstream: string): Found<OwnKeyPlace> {
  const owner = team === undefined ? { accountId: account!.id } : { teamId: team.id };
  return { target: { owner, upstream }, account, team, objectId: upstreamKeyId(owner, upstream) };
}

async function state({ parts }: OperationContext, { owner, upstream }: OwnKeyPlace) {
  const found = await parts.upstreamKeys.byId(upstreamKeyId(owner, upstream));
  return found === undefined ? null : describeUpstreamKey(found);
}

export const UPSTREAM_KEY_LIST = defineRead({
  input: z.strictObject({ ...ownerInput, ...pageInput }),
  output: upstreamKeyShape,
}, {
  name: "upstream_key.list",
  path: "/upstream-keys",
  summary: "List keys of upstreams that belong to accounts and teams",
  action: "account.keys",
  isList: true,
  async read(c, { account, team, limit, after }) {
    const owner = team !== undefined
      ? { teamId: (await teamOf(c, team)).id }
      : account !== undefined
      ? { accountId: (await accountOf(c, account)).id }
      : undefined;
    const all = await c.parts.upstreamKeys.list(owner);
    const shown = all.map(describeUpstreamKey);
    return pageAfter(shown, { limit, after }, { noun: "Upstream key", idOf: ({ id }) => id });
  },
});

export const UPSTREAM_KEY_SET = defineWrite({
  input: z.strictObject({
    ...ownerInput,
    upstream: z.string().min(1).max(64).describe("Name of an upstream of the settings."),
    key: z.string().min(1).max(5_000).describe("The key. It is encrypted, and not shown again."),
    test: z.boolean().default(true).describe(
      "Whether the upstream is asked for its models with the key first. A key that it rejects is not set.",
    ),
  }),
  output: upstreamKeyShape,
}, {
  name: "upstream_key.set",
  method: "PUT",
  path: "/upstream-keys",
  summary: "Set the key of an account or team at an upstream, instead of an earlier one",
  action: "account.manage",
  right: toSetOwnKey,
  async find(c, { account, team, upstream }) {
    mustNameOne({ account, team });
    return team === undefined
      ? placed({ account: await accountOf(c, account!) }, upstream)
      : placed({ team: await teamOf(c, team) }, upstream);
  },
  state,
  async run({ upstreamKeys }, c, { target: { owner, upstream }, input }) {
    const settings = upstreamOf(c, upstream);
    const key = checkUpstreamKey(input.key);
    const isOperator = may(c.actor, "account.manage");
    if (input.test || !isOperator) await tryKey(c, { upstream, settings, key });
    if (!isOperator) await checkKeysMatter(c, { upstream, settings });
    const cipher = new UpstreamKeyCipher(await c.parts.sealKey());
    await upstreamKeys.set(owner, {
      upstream,
      sealed: cipher.seal(key, owner, upstream),
      hint: upstreamKeyHint(key),
    });
  },
});

/** @throws {OperationError} If there is no such upstream, or none that a key can be sent to. */
function upstreamOf({ parts: { config } }: OperationContext, name: string) {
  const upstreams = configuredUpstreams(config.settings);
  const settings = Object.hasOwn(upstreams, name) ? upstreams[name]! : undefined;
  if (settings === undefined) {
    const known = Object.keys(upstreams).join(", ");
    throw invalid(
      "upstream",
      `Unknown upstream ${JSON.stringify(name)}. ` +
        (known === ""
          ? "The settings have no upstreams: add it to `upstreams`, then reload."
          : `Upstreams of the settings: ${known}.`),
    );
  }
  if (takesKeys(settings)) return settings;
  throw invalid(
    "upstream",
    settings.credentials === undefined
      ? `Requests to ${name} carry no key: the settings have none for it.`
      : `Requests to ${name} carry no key: its credentials are of the kind ${settings.credentials.kind}.`,
  );
}

/**
 * Replies to own keys may cost nothing here: one that any text brings about would be the operator's gift. Operators know their upstreams,
 * others' keys are set only where a key that nobody has given out is rejected.
 *
 * @throws {OperationError} If that cannot be told.
 */
async function checkKeysMatter(
  { parts: { catalog, now } }: OperationContext,
  { upstream, settings }: {
    readonly upstream: string;
    readonly settings: ReturnType<typeof upstreamOf>;
  },
): Promise<void> {
  const { routes } = await catalog();
  const model = routes.filter(({ kind }) => kind === "generation")
    .flatMap(({ targets }) => targets)
    .find((target) => target.upstream === upstream)?.model;
  const matter = model !== undefined &&
    await checksKeys(upstream, settings, { model, now, patienceMs: TEST_MS });
  if (matter) return;
  throw new OperationError(
    "conflict",
    `It could not be found out that the upstream ${upstream} checks keys: only an operator can set one for it.`,
    { param: "upstream" },
  );
}

/** @throws {OperationError} If the upstream rejects the key, or cannot be reached. */
async function tryKey(
  { parts: { now } }: OperationContext,
  { upstream, settings, key }: {
    readonly upstream: string;
    readonly settings: ReturnType<typeof upstreamOf>;
    readonly key: string;
  },
): Promise<void> {
  const { status, fault } = await probeOwnKey(upstream, settings, key, {
    now,
    patienceMs: TEST_MS,
  });
  const why = fault !== undefined
    ? `The upstream ${upstream} could not be asked whether it accepts the key: ${fault.words}. Try again`
    : KEY_REJECTED.includes(status!)
    ? `The upstream ${upstream} does not accept the key (status ${status}). Check it with the provider`
    : undefined;
  if (why === undefined) return;
  throw invalid("key", `${why}, or set it without a test.`);
}

export const UPSTREAM_KEY_REMOVE = defineWrite({
  input: z.strictObject({
    upstream_key: z.string().min(1).max(200).describe(
      "ID of the key: that of its account or team, a colon and the upstream.",
    ),
  }),
  output: upstreamKeyShape,
}, {
  name: "upstream_key.remove",
  method: "DELETE",
  path: "/upstream-keys/{upstream_key}",
  summary: "Remove the key of an account or team at an upstream",
  action: "account.manage",
  right: toSetOwnKey,
  async find({ parts: { accounts, teams } }, { upstream_key: id }) {
    const [ownerId = "", upstream = ""] = id.split(":");
    const team = await teams.byId(ownerId);
    if (team !== undefined) return placed({ team }, upstream);
    const account = await accounts.byId(ownerId);
    if (account === undefined) throw missing("Upstream key", id);
    return placed({ account }, upstream);
  },
  state,
  async run({ upstreamKeys }, _c, { target: { owner, upstream } }) {
    await upstreamKeys.remove(upstreamKeyId(owner, upstream));
  },
  // of one that was removed: as it was
  reply: (_c, { before, after }) => Promise.resolve(after ?? before ?? {}),
});
