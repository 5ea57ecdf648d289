/** PATCH as Entra and Okta spell it, and as RFC 7644 does. */

import fc from "fast-check";
import {
  type Attributes,
  parseFilter,
  patched,
  projected,
  readGroup,
  readUser,
  ScimError,
} from "../../../src/people/scim/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const CORE = "urn:ietf:params:scim:schemas:core:2.0:User";
const ADA = {
  userName: "ada@example.com",
  active: true,
  displayName: "Ada",
  name: { givenName: "Ada", familyName: "L" },
  emails: [{ value: "ada@example.com", type: "work", primary: true }],
};
const TEAM = { displayName: "eng", members: [{ value: "u1" }, { value: "u2" }] };

/** The error of something that is refused. */
function refusal(work: () => unknown): ScimError {
  return assertThrows(work, ScimError);
}

/** An operation, what it is carried out on, and what differs afterwards or the error. */
type Row = readonly [string, Attributes, readonly unknown[], Attributes | string];

const ROWS: readonly Row[] = [
  // https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups
  ["Entra disables", ADA, [{ op: "Replace", path: "active", value: false }], { active: false }],
  ["Entra disables by a text", ADA, [{ op: "Replace", path: "active", value: "False" }], {
    active: "False",
  }],
  ["Entra changes an address of a type", ADA, [{
    op: "Replace",
    path: 'emails[type eq "work"].value',
    value: "ada@example.org",
  }], { emails: [{ value: "ada@example.org", type: "work", primary: true }] }],
  ["Entra adds an address of a type", { userName: "a" }, [{
    op: "Add",
    path: 'emails[type eq "work"].value',
    value: "ada@example.org",
  }], { emails: [{ type: "work", value: "ada@example.org" }] }],
  [
    "Entra changes a part of a name",
    ADA,
    [{ op: "Add", path: "name.familyName", value: "Byron" }],
    {
      name: { givenName: "Ada", familyName: "Byron" },
    },
  ],
  ["Entra sends dotted names without a path", ADA, [{
    op: "replace",
    value: { "name.givenName": "Augusta", displayName: "Augusta", active: "True" },
  }], { name: { givenName: "Augusta", familyName: "L" }, displayName: "Augusta", active: "True" }],
  ["Entra sends an extension's attribute", ADA, [{
    op: "Add",
    path: `${ENTERPRISE}:department`,
    value: "Engines",
  }], { [ENTERPRISE]: { department: "Engines" } }],
  ["Entra sends it without a path", ADA, [{
    op: "Add",
    value: { [`${ENTERPRISE}:department`]: "Engines", [`${CORE}:title`]: "Countess" },
  }], { [ENTERPRISE]: { department: "Engines" }, title: "Countess" }],
  ["the last of an extension goes", { userName: "a", [ENTERPRISE]: { department: "E" } }, [{
    op: "Remove",
    path: `${ENTERPRISE}:department`,
  }], { [ENTERPRISE]: undefined }],
  ["Entra adds members", TEAM, [{
    op: "Add",
    path: "members",
    value: [{ $ref: null, value: "u3" }],
  }], {
    members: [...TEAM.members, { $ref: null, value: "u3" }],
  }],
  ["Entra removes members by a list", TEAM, [{
    op: "Remove",
    path: "members",
    value: [{ $ref: null, value: "u1" }],
  }], { members: [{ value: "u2" }] }],
  ["Entra renames a group", TEAM, [{ op: "Replace", path: "displayName", value: "ops" }], {
    displayName: "ops",
  }],
  // https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/
  ["Okta disables", ADA, [{ op: "replace", value: { active: false } }], { active: false }],
  ["Okta renames a group, with its ID", TEAM, [{
    op: "replace",
    value: { id: "scim_1", displayName: "ops" },
  }], { displayName: "ops" }],
  ["Okta removes a member by a filter", TEAM, [{ op: "remove", path: 'members[value eq "u1"]' }], {
    members: [{ value: "u2" }],
  }],
  ["Okta adds members and removes others", TEAM, [
    { op: "remove", path: 'members[value eq "u1"]' },
    { op: "add", path: "members", value: [{ value: "u2", display: "Bob" }, { value: "u9" }] },
  ], { members: [{ value: "u2" }, { value: "u9" }] }],
  ["Okta replaces members", TEAM, [{ op: "replace", path: "members", value: [{ value: "u7" }] }], {
    members: [{ value: "u7" }],
  }],
  ["all members go", TEAM, [{ op: "remove", path: "members" }], { members: undefined }],
  ["one member is added as an object", TEAM, [{
    op: "ADD",
    path: "Members",
    value: { value: "u3" },
  }], {
    members: [...TEAM.members, { value: "u3" }],
  }],
  [
    "a member that is not there is removed",
    TEAM,
    [{ op: "remove", path: 'members[value eq "x"]' }],
    {},
  ],
  ["IDs of members have a case", TEAM, [{ op: "remove", path: 'members[value eq "U1"]' }], {}],
  ["types have none", ADA, [{ op: "remove", path: 'EMAILS[Type EQ "WORK"]' }], { emails: [] }],
  ["names have none", ADA, [{ op: "replace", path: "DISPLAYNAME", value: "A" }], {
    displayName: "A",
  }],
  ["a primary one by a text", ADA, [{
    op: "replace",
    path: 'emails[primary eq "True"].value',
    value: "x@example.com",
  }], { emails: [{ value: "x@example.com", type: "work", primary: true }] }],
  ["two terms", ADA, [{
    op: "replace",
    path: 'emails[type eq "work" and primary eq true].display',
    value: "x",
  }], { emails: [{ value: "ada@example.com", type: "work", primary: true, display: "x" }] }],
  ["a core URN before a name", ADA, [{ op: "replace", path: `${CORE}:userName`, value: "b" }], {
    userName: "b",
  }],
  [
    "to replace by nothing is to remove",
    ADA,
    [{ op: "replace", path: "displayName", value: null }],
    {
      displayName: undefined,
    },
  ],
  ["a name without a target", ADA, [{ op: "remove" }], "noTarget"],
  ["a filter that finds nothing", ADA, [{
    op: "replace",
    path: 'emails[type eq "home"].value',
    value: "x",
  }], "noTarget"],
  ["the ID", ADA, [{ op: "replace", path: "id", value: "x" }], "mutability"],
  ["the groups of a user", ADA, [{ op: "add", path: "groups", value: [] }], "mutability"],
  ["no user name", ADA, [{ op: "remove", path: "userName" }], "mutability"],
  ["a path that is none", ADA, [{ op: "replace", path: "a b", value: 1 }], "invalidPath"],
  [
    "a path into an object's prototype",
    ADA,
    [{ op: "add", path: "__proto__", value: {} }],
    "invalidPath",
  ],
  [
    "the same without a path",
    ADA,
    [{ op: "add", value: JSON.parse('{"__proto__":{"x":1}}') }],
    "invalidPath",
  ],
  ["a path with three parts", ADA, [{ op: "replace", path: "a.b.c", value: 1 }], "invalidPath"],
  ["a part of a list", ADA, [{ op: "replace", path: "emails.value", value: "x" }], "invalidPath"],
  ["a filter that is none", ADA, [{ op: "remove", path: "emails[type]" }], "invalidPath"],
  ["another comparison", ADA, [{ op: "remove", path: 'emails[type ne "x"]' }], "invalidPath"],
  ["another operation", ADA, [{ op: "move", path: "title" }], "invalidSyntax"],
  ["no operations", ADA, [], "invalidSyntax"],
  ["nothing to add", ADA, [{ op: "add", path: "title" }], "invalidValue"],
  ["a text without a path", ADA, [{ op: "add", value: "x" }], "invalidValue"],
];

Deno.test("operations of PATCH do what Entra, Okta and the RFC mean by them", () => {
  for (const [name, before, operations, after] of ROWS) {
    const copy = structuredClone(before);
    if (typeof after === "string") {
      const error = refusal(() => patched(before, operations));
      assertEquals([error.scimType, error.status], [after, 400], name);
    } else {
      const expected = Object.entries({ ...before, ...after }).filter(([, one]) =>
        one !== undefined
      );
      assertEquals(patched(before, operations), Object.fromEntries(expected), name);
    }
    assertEquals(before, copy, `${name}: what there was is left alone`);
  }
});

Deno.test("any spelling of a change of members comes to the same members", () => {
  const ids = ["a", "b", "c", "d"];
  const change = fc.record({
    adds: fc.boolean(),
    members: fc.uniqueArray(fc.constantFrom(...ids)),
    spelling: fc.nat(3),
  });
  fc.assert(
    fc.property(fc.uniqueArray(fc.constantFrom(...ids)), fc.array(change), (start, changes) => {
      const model = new Set<string>(start);
      let group: Attributes = { displayName: "g", members: start.map((value) => ({ value })) };
      for (const { adds, members, spelling } of changes) {
        for (const id of members) adds ? model.add(id) : model.delete(id);
        const list = members.map((value) => ({ value }));
        const op = ["add", "Add", "ADD", "aDD"][spelling];
        const added = spelling % 2 === 0
          ? [{ op, path: "members", value: list }]
          : [{ op, value: { members: list } }];
        const removed = spelling % 2 === 0
          ? [{ op: "Remove", path: "members", value: list }]
          : members.map((id) => ({ op: "remove", path: `members[value eq "${id}"]` }));
        if (members.length > 0) group = patched(group, adds ? added : removed);
      }
      assertEquals(new Set(readGroup(group).members), model);
    }),
  );
});

Deno.test("whatever a PATCH has, it is carried out or refused", () => {
  const path = fc.oneof(
    fc.string(),
    fc.constantFrom(
      ...ROWS.flatMap(([, , all]) => all.flatMap((one) => (one as { path?: string }).path ?? [])),
      "constructor",
      "toString.x",
      'hasOwnProperty[value eq "x"].y',
    ),
  );
  const operation = fc.record({
    op: fc.constantFrom("add", "replace", "remove"),
    path: fc.option(path, { nil: undefined }),
    value: fc.oneof(fc.jsonValue(), fc.dictionary(path, fc.jsonValue())),
  });
  fc.assert(fc.property(fc.array(operation, { minLength: 1 }), (operations) => {
    try {
      patched(ADA, operations);
    } catch (error) {
      if (!(error instanceof ScimError)) throw error;
    }
    assertEquals(({} as Record<string, unknown>).x, undefined);
  }));
});

Deno.test("filters are comparisons for equality, alone or several", () => {
  assertEquals(parseFilter('userName eq "a\\"b"'), [{ attribute: "username", value: 'a"b' }]);
  assertEquals(parseFilter(`${CORE}:userName EQ "x" AND active eq True`), [
    { attribute: "username", value: "x" },
    { attribute: "active", value: true },
  ]);
  const wrong = [
    "",
    " ",
    "userName",
    'userName co "a"',
    'userName eq "a" or id eq "b"',
    'userName eq "a',
  ];
  for (
    const text of [
      ...wrong,
      'userName eq "a" and',
      'userName eq "a" and ',
      'id eq "a"id eq "b"',
      "id eq x",
    ]
  ) {
    const error = refusal(() => parseFilter(text));
    assertEquals(error.scimType, "invalidFilter", text);
  }
});

Deno.test("a user has what an account needs: a name, an address, whether it is active", () => {
  const read = (sent: Attributes) => readUser({ userName: "ada", ...sent });
  const primary = { value: "P@example.com", primary: "True" };
  assertEquals(read({ emails: [{ value: "a@example.com" }, primary] }).email, "p@example.com");
  assertEquals(
    read({ emails: [{ value: "a@example.com" }, { value: "w@example.com", TYPE: "Work" }] }).email,
    "w@example.com",
  );
  assertEquals(readUser({ USERNAME: "Ada@Example.com" }).email, "ada@example.com");
  assertEquals(read({ emails: [{ value: "none" }] }).email, undefined);
  assertEquals(read({ name: { givenName: "Ada", familyName: "L" } }).name, "Ada L");
  assertEquals(read({ active: "False" }).active, false);
  assertEquals(read({}).active, true);
  // a password is a secret: it is not kept
  assertEquals(read({ password: "secret", title: "T", id: "x", groups: [] }).attributes, {
    title: "T",
  });
  for (
    const sent of [{ userName: "" }, { userName: 5 }, { active: "yes" }, { active: [true] }, {
      externalId: {},
    }]
  ) {
    const error = refusal(() => read(sent as Attributes));
    assertEquals(error.scimType, "invalidValue", JSON.stringify(sent));
  }
});

Deno.test("a reply has the attributes that were asked for, and always its ID", () => {
  const user = {
    schemas: [CORE],
    id: "1",
    ...ADA,
    [ENTERPRISE]: { department: "E", division: "D" },
  };
  const shown = (only?: string[], without?: string[]) => projected(user, { only, without });
  assertEquals(shown(["userName"]), { schemas: [CORE], id: "1", userName: ADA.userName });
  assertEquals(shown(["NAME.givenname", `${CORE}:active`]), {
    schemas: [CORE],
    id: "1",
    active: true,
    name: { givenName: "Ada" },
  });
  assertEquals(shown(["emails.value", `${ENTERPRISE}:department`]), {
    schemas: [CORE],
    id: "1",
    emails: [{ value: "ada@example.com" }],
    [ENTERPRISE]: { department: "E" },
  });
  const { emails: _, ...rest } = user;
  assertEquals(shown(undefined, ["emails", "name.givenName", "id"]), {
    ...rest,
    name: { familyName: "L" },
  });
});
