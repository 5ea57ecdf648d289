/** Roles of the installation that an account may have. */
export const ROLES = ["owner", "operator", "finance", "none"] as const;
/** Role of an account in the installation. */
export type Role = typeof ROLES[number];

/** Roles that a member may have in a team. */
export const TEAM_ROLES = ["lead", "member"] as const;
/** Role of a member in a team. */
export type TeamRole = typeof TEAM_ROLES[number];

/** What a permission is given to: a role of the installation, a role in the team concerned, or the account concerned. */
export const HOLDERS = ["owner", "operator", "finance", "lead", "member", "self"] as const;
/** One of {@linkcode HOLDERS}. */
export type Holder = typeof HOLDERS[number];
