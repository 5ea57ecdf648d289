import type { Account, Action, Key, Member, Team } from "../../../people/accounts/mod.ts";
import type { WriteOperation } from "../../../operating/operations/mod.ts";
import type { Budget } from "../../../money/ledger/mod.ts";
import type { UsageSum } from "../../../money/usage/mod.ts";
import type { PageContext } from "../layout.tsx";
import type { MadeKey } from "./key_forms.tsx";
import type { KeysView, MayChange } from "./key_table.tsx";
import type { OwnKeysView } from "./own_keys.tsx";

/** What a key was used for, and the member whose it is: of keys of the whole team `null`. */
export type MemberUsage = UsageSum<"model" | "key"> & Pick<Key, "memberId">;

/** What the page of a team shows. */
export interface TeamPageProps extends Omit<KeysView, "budgets"> {
  readonly page: PageContext;
  readonly team: Team;
  /** Balance of the pool; `null` without one. */
  readonly balance: number | null;
  /** The members that the visitor may see. */
  readonly members: readonly Member[];
  /** Email addresses by account ID, those of removed members among them. */
  readonly names: ReadonlyMap<string, string>;
  /** Budgets of the team. */
  readonly budgets: readonly Budget[];
  /** Budgets of members, by account ID. */
  readonly memberBudgets: ReadonlyMap<string, readonly Budget[]>;
  /** Budgets of keys, by key ID. */
  readonly keyBudgets: ReadonlyMap<string, readonly Budget[]>;
  /** Own keys of upstreams, if the visitor may set them. */
  readonly ownKeys: OwnKeysView | undefined;
  /** Whether the visitor may do a write of the team. */
  readonly mayOperate: (operation: WriteOperation) => boolean;
  readonly mayChange: MayChange;
  /** Whether the visitor may make a key for a member, by its account ID; for the whole team, by `null`. */
  readonly mayMakeFor: (memberId: string | null) => boolean;
  /** When members last used a key of the team, by account ID; of its own keys, by `null`. */
  readonly lastUseByMember: ReadonlyMap<string | null, number>;
  /** This month's usage by model and key. */
  readonly usage: readonly MemberUsage[];
  /** The visitor's account, if it is a member. */
  readonly self: Account | undefined;
  /** Whether the visitor may see something of this team. */
  readonly may: (action: Action) => boolean;
  readonly made?: MadeKey | undefined;
  readonly address: string;
}
