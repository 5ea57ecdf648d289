import { ENTERPRISE_SCHEMA, GROUP_SCHEMA, USER_SCHEMA } from "../../people/scim/mod.ts";

/** Resources of a page, at most. */
export const MAX_PAGE = 200;

const CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
const RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
const SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema";

/** What the gateway supports (RFC 7643, section 5). */
export const SERVICE_PROVIDER = {
  schemas: [CONFIG],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_PAGE },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [{
    type: "oauthbearertoken",
    name: "API key",
    description: "An API key of an owner with the scope scim, as a bearer token",
    primary: true,
  }],
};

/** What there is (RFC 7643, section 6). */
export const RESOURCE_TYPES = [
  {
    schemas: [RESOURCE_TYPE],
    id: "User",
    name: "User",
    endpoint: "/Users",
    description: "Person who may sign in",
    schema: USER_SCHEMA,
    schemaExtensions: [{ schema: ENTERPRISE_SCHEMA, required: false }],
  },
  {
    schemas: [RESOURCE_TYPE],
    id: "Group",
    name: "Group",
    endpoint: "/Groups",
    description: "Group that gives roles, teams and budgets",
    schema: GROUP_SCHEMA,
  },
];

/** An attribute of a schema; what is left out is as most are. */
const attribute = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name,
  type: "string",
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: "readWrite",
  returned: "default",
  uniqueness: "none",
  ...more,
});
const complex = (
  name: string,
  subAttributes: readonly unknown[],
  more: Readonly<Record<string, unknown>> = {},
) => attribute(name, { type: "complex", subAttributes, ...more });

const REFERENCE = attribute("$ref", { type: "reference", caseExact: true, mutability: "readOnly" });

/** What resources are made of (RFC 7643, section 7). Further attributes of users are kept as they were sent. */
export const SCHEMAS = [
  {
    schemas: [SCHEMA],
    id: USER_SCHEMA,
    name: "User",
    description: "Person who may sign in",
    attributes: [
      attribute("userName", { required: true, uniqueness: "server" }),
      attribute("externalId", { caseExact: true }),
      attribute("displayName"),
      complex("name", [
        attribute("formatted"),
        attribute("familyName"),
        attribute("givenName"),
      ]),
      attribute("active", { type: "boolean" }),
      complex("emails", [
        attribute("value"),
        attribute("type"),
        attribute("primary", { type: "boolean" }),
      ], { multiValued: true }),
      complex("groups", [
        attribute("value", { mutability: "readOnly" }),
        attribute("display", { mutability: "readOnly" }),
        REFERENCE,
      ], { multiValued: true, mutability: "readOnly" }),
    ],
  },
  {
    schemas: [SCHEMA],
    id: GROUP_SCHEMA,
    name: "Group",
    description: "Group that gives roles, teams and budgets",
    attributes: [
      attribute("displayName", { required: true }),
      attribute("externalId", { caseExact: true }),
      complex("members", [
        attribute("value", { caseExact: true, mutability: "immutable" }),
        attribute("display", { mutability: "readOnly" }),
        REFERENCE,
      ], { multiValued: true }),
    ],
  },
  {
    schemas: [SCHEMA],
    id: ENTERPRISE_SCHEMA,
    name: "EnterpriseUser",
    description: "What a company knows of a person",
    attributes: [
      attribute("employeeNumber"),
      attribute("costCenter"),
      attribute("organization"),
      attribute("division"),
      attribute("department"),
    ],
  },
];
