/** Tables of this folder: only its SQL reads and writes them (`tests/tables_test.ts`). */
export const TABLES = ["scim_users", "scim_groups", "scim_members"] as const;
