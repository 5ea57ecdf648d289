import type { Session } from "../../../src/people/accounts/mod.ts";

/** A session of an account without a role. */
export const ROLE_NONE: Session = {
  account: {
    id: "acc_none",
    email: "none@example.com",
    name: "",
    kind: "person",
    role: "none",
    createdAtMs: 0,
    disabledAtMs: null,
  },
  teams: new Map(),
  csrfToken: "",
  byLink: false,
  isRecent: false,
};
