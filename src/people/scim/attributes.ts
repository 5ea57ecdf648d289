/** A JSON object with attributes. Their names may have any case (RFC 7643, section 2.1). */
export type Attributes = Readonly<Record<string, unknown>>;

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** Attributes with values of their own spelling, which directories send in others. */
const SPELLINGS = [
  ...["schemas", "id", "externalId", "meta", "userName", "displayName", "name", "active", "groups"],
  ...["emails", "phoneNumbers", "ims", "photos", "addresses", "entitlements", "roles", "members"],
  ...["x509Certificates", "password", "nickName", "profileUrl", "title", "userType", "locale"],
  ...["preferredLanguage", "timezone", "value", "display", "type", "primary", "$ref"],
  ...["formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"],
  ENTERPRISE_SCHEMA,
];
const SPELLING = new Map(SPELLINGS.map((name) => [name.toLowerCase(), name]));

const MULTI_VALUED: ReadonlySet<string> = new Set([
  ...["emails", "phoneNumbers", "ims", "photos", "addresses", "entitlements", "roles", "members"],
  "x509Certificates",
]);

/** Whether an attribute of the core schemas is a list. */
export function isMultiValued(name: string): boolean {
  return MULTI_VALUED.has(spelt(name));
}

/** The name as the schemas spell it; one that they do not have as it is. */
export function spelt(name: string): string {
  return SPELLING.get(name.toLowerCase()) ?? name;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name by which an object has an attribute, or is to get it. */
export function nameIn(object: Attributes, name: string): string {
  const lower = name.toLowerCase();
  return Object.keys(object).find((one) => one.toLowerCase() === lower) ?? spelt(name);
}

/** The value of an attribute; `undefined` if there is none, or it is null. */
export function valueOf(object: Attributes, name: string): unknown {
  const own = nameIn(object, name);
  return Object.hasOwn(object, own) ? object[own] ?? undefined : undefined;
}

/** An attribute's name without the URN of a core schema before it. */
export function withoutCore(path: string): string {
  for (const schema of [USER_SCHEMA, GROUP_SCHEMA]) {
    if (path.toLowerCase().startsWith(`${schema.toLowerCase()}:`)) {
      return path.slice(schema.length + 1);
    }
  }
  return path;
}

/** Attributes that every reply has (RFC 7643, section 3.1: "returned" is "always"). */
const ALWAYS: readonly string[] = ["schemas", "id"];

/**
 * Returns a resource with the attributes that were asked for (RFC 7644, section 3.4.2.5), which may be dotted.
 *
 * @param only Those that are to be there; all if undefined.
 * @param without Those that are not.
 */
export function projected(
  resource: Attributes,
  { only, without = [] }: {
    readonly only?: readonly string[] | undefined;
    readonly without?: readonly string[] | undefined;
  },
): Attributes {
  const names = (list: readonly string[]) => list.map((name) => withoutCore(name).toLowerCase());
  const [wanted, unwanted] = [only && names(only), names(without)];
  const kept = (value: unknown, path: string): unknown => {
    if (unwanted.includes(path)) return undefined;
    const isWanted = wanted === undefined || wanted.includes(path);
    const isAbove = wanted?.some((one) => one.startsWith(`${path}.`) || one.startsWith(`${path}:`));
    const isBelow = unwanted.some((one) => one.startsWith(`${path}.`));
    if (isWanted && !isBelow) return value;
    if (!isWanted && isAbove !== true) return undefined;
    const parts = (one: unknown) => {
      if (!isObject(one)) return one;
      const separator = path.startsWith("urn:") ? ":" : ".";
      const inner = Object.entries(one).map(([name, part]) => {
        const below = `${path}${separator}${name.toLowerCase()}`;
        if (isWanted) return [name, unwanted.includes(below) ? undefined : part];
        return [name, wanted?.includes(below) ? part : undefined];
      });
      return Object.fromEntries(inner.filter(([, part]) => part !== undefined));
    };
    return Array.isArray(value) ? value.map(parts) : parts(value);
  };
  return Object.fromEntries(
    Object.entries(resource)
      .map(([name, value]) =>
        [name, ALWAYS.includes(name) ? value : kept(value, name.toLowerCase())] as const
      )
      .filter(([, value]) => value !== undefined),
  );
}

/** The values of an attribute, which may have one, several or none. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}
