import * as os from "node:os";
import {
  type Account,
  type Action,
  type ActionObject,
  type Authority,
  can,
  type TeamRole,
} from "../accounts/mod.ts";

/** Through which door an operation came. */
export const DOORS = ["console", "api", "command"] as const;
/** One of {@linkcode DOORS}. */
export type Door = typeof DOORS[number];

/** Who carries out an operation: an account, by a session or an API key, or a user of the system's shell. */
export interface Actor {
  /** `null` for a user of the shell, who may do everything. */
  readonly account: Account | null;
  /** Roles in teams, by team ID. */
  readonly teams: ReadonlyMap<string, TeamRole>;
  /** The API key that was used. */
  readonly keyId: string | null;
  /** Email address, or the name of the system's user. */
  readonly name: string;
}

/** An account, as far as it decides what it may do. */
export type Person = Pick<Actor, "account" | "teams">;

/** From where an operation came. */
export interface Origin {
  readonly door: Door;
  /** The client's address; `null` for a command. */
  readonly address: string | null;
}

/** Who does something, and from where. */
export interface By {
  readonly actor: Actor;
  readonly origin: Origin;
}

/** The user of the shell that a command runs in. */
export function shellActor(): Actor {
  return { account: null, teams: new Map(), keyId: null, name: systemUser() };
}

/** An account with a session of the console. */
export function sessionActor(
  { account, teams }: { readonly account: Account; readonly teams: Actor["teams"] },
): Actor {
  return { account, teams, keyId: null, name: account.email };
}

/** An account with an API key. Its roles in teams do not count: keys for the operator's API are for roles of the installation. */
export function keyActor(account: Account, keyId: string): Actor {
  return { account, teams: new Map(), keyId, name: account.email };
}

/** Returns whether somebody may do an action. */
export function may(
  { account, teams }: Person,
  action: Action,
  about: ActionObject = {},
): boolean {
  return account === null || can({ account, teams }, action, about);
}

/** By what somebody may write about a team or an account; `undefined` for a user of the shell. */
export function authorityOf(
  { account, teams, keyId }: Actor,
  { teamId }: ActionObject,
): Authority | undefined {
  if (account === null) return undefined;
  const role = teamId === undefined ? undefined : teams.get(teamId);
  return {
    account,
    keyId,
    inTeam: teamId === undefined || role === undefined ? undefined : { teamId, role },
  };
}

function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return "unknown"; // a process whose user has no name, as in some containers
  }
}
