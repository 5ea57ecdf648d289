/**
 * People and groups as a company's directory sends them (SCIM 2.0: RFC 7643, RFC 7644): documents, their changes in the spellings of
 * Entra and Okta, filters, and what is kept of them.
 *
 * Promise: a user is one account, and an account one user at most; two changes at once do not undo each other.
 * Leaves to others: accounts (`accounts/`), what groups give and the log (`operating/operations`), HTTP (`doors/http`).
 *
 * @module
 */

export {
  type Attributes,
  ENTERPRISE_SCHEMA,
  GROUP_SCHEMA,
  isObject,
  projected,
  USER_SCHEMA,
  valueOf,
} from "./attributes.ts";
export {
  changeMembers,
  deleteGroup,
  deleteUser,
  evaluated,
  haveChanges,
  insertGroup,
  insertUser,
  isSameGroup,
  isSameUser,
  updateGroup,
  updateUser,
} from "./directory_changes.ts";
export { Directory, type DirectoryGroup, type DirectoryUser } from "./directory.ts";
export {
  type GroupDocument,
  groupDocument,
  readGroup,
  readUser,
  replaced,
  type UserDocument,
  userDocument,
} from "./documents.ts";
export { ScimError } from "./error.ts";
export { parseFilter } from "./filter.ts";
export { patched } from "./patch.ts";
