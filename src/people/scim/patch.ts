import {
  type Attributes,
  isMultiValued,
  isObject,
  listOf,
  nameIn,
  spelt,
  valueOf,
  withoutCore,
} from "./attributes.ts";
import { ScimError } from "./error.ts";
import { parseFilter, type Term } from "./filter.ts";

type Operator = "add" | "replace" | "remove";
type Document = Record<string, unknown>;

/** What an operation is about: `emails[type eq "work"].value`. */
interface Path {
  /** URN of the extension that has the attribute. */
  readonly extension: string | undefined;
  /** `undefined` for the whole extension. */
  readonly attribute: string | undefined;
  readonly filter: readonly Term[] | undefined;
  readonly part: string | undefined;
}

const MAX_OPERATIONS = 1_000;
const OPERATORS: readonly string[] = ["add", "replace", "remove"] satisfies Operator[];
/** What only the gateway writes. */
const READ_ONLY: ReadonlySet<string> = new Set(["id", "meta", "schemas", "groups"]);
/** Custom schemas are named like those of the standard. */
const EXTENSION = /^(urn:.+:(?:user|group))(?::(.+))?$/is;
const PATH = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

/**
 * Carries out the operations of a PATCH (RFC 7644, section 3.5.2), in the spellings of Entra and Okta: names of operations in any case, no
 * path and an object of attributes whose names may be paths, members that are removed by a filter or by a list.
 *
 * @param before The resource's attributes.
 * @param operations The list `Operations` of the body.
 * @returns The attributes afterwards.
 * @throws {ScimError} If an operation cannot be carried out: then none is.
 */
export function patched(before: Attributes, operations: unknown): Attributes {
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new ScimError("invalidSyntax", "A PATCH needs a list of Operations.");
  }
  if (operations.length > MAX_OPERATIONS) {
    throw new ScimError("invalidValue", `A PATCH has up to ${MAX_OPERATIONS} operations.`);
  }
  const document: Document = structuredClone(before);
  for (const operation of operations) {
    const name = isObject(operation) ? String(valueOf(operation, "op")).toLowerCase() : "";
    if (!isObject(operation) || !OPERATORS.includes(name)) {
      throw new ScimError("invalidSyntax", 'The "op" of an operation is add, replace or remove.');
    }
    const operator = name as Operator;
    const path = valueOf(operation, "path");
    const value = valueOf(operation, "value");
    if (typeof path === "string" && path !== "") {
      apply(document, operator, { path: pathOf(path), value });
    } else if (path !== undefined && path !== "") {
      throw new ScimError("invalidPath", "The path of an operation is a text.");
    } else if (operator === "remove") {
      throw new ScimError("noTarget", "An operation that removes something needs a path.");
    } else if (!isObject(value)) {
      throw new ScimError(
        "invalidValue",
        "An operation without a path has an object as its value.",
      );
    } else {
      for (const [one, of] of Object.entries(value)) {
        // Okta sends the ID along
        if (READ_ONLY.has(withoutCore(one).toLowerCase())) continue;
        apply(document, operator, { path: pathOf(one), value: of ?? undefined });
      }
    }
  }
  return document;
}

function pathOf(text: string): Path {
  const plain = withoutCore(text.trim());
  const [, extension, inner = plain] = EXTENSION.exec(plain) ?? [];
  if (extension !== undefined && inner === plain) {
    return { extension, attribute: undefined, filter: undefined, part: undefined };
  }
  const [, attribute, filter, part] = PATH.exec(inner) ?? [];
  if (attribute === undefined) {
    throw new ScimError("invalidPath", `Invalid path ${JSON.stringify(text.slice(0, 200))}.`);
  }
  return {
    extension,
    attribute,
    filter: filter === undefined ? undefined : parseFilter(filter, "invalidPath"),
    part,
  };
}

function apply(
  document: Document,
  operator: Operator,
  { path, value }: { readonly path: Path; readonly value: unknown },
): void {
  const { extension, attribute, filter, part } = path;
  if (extension === undefined && READ_ONLY.has(attribute!.toLowerCase())) {
    throw new ScimError("mutability", `${spelt(attribute!)} is read-only.`);
  }
  if (operator === "add" && value === undefined) {
    throw new ScimError("invalidValue", "An operation that adds something needs a value.");
  }
  // to replace by nothing is to remove
  const isRemoved = operator === "remove" || value === undefined;
  if (isRemoved && attribute?.toLowerCase() === "username") {
    throw new ScimError("mutability", "userName cannot be removed.");
  }
  const within = extension === undefined ? document : inner(document, extension);
  if (attribute === undefined) {
    if (isRemoved) delete document[nameIn(document, extension!)];
    else if (isObject(value)) merge(within, value);
    else throw new ScimError("invalidValue", "An extension is an object.");
    return;
  }
  const name = nameIn(within, attribute);
  if (filter !== undefined) applyFiltered(within, name, { ...path, filter, value, operator });
  else if (part !== undefined) {
    if (isMultiValued(name) || Array.isArray(own(within, name))) {
      throw new ScimError("invalidPath", `${name} is a list: say which with a filter.`);
    }
    const object = inner(within, name);
    if (isRemoved) delete object[nameIn(object, part)];
    else object[nameIn(object, part)] = value;
    if (Object.keys(object).length === 0) delete within[name];
  } else if (isMultiValued(name) || Array.isArray(own(within, name))) {
    const given = value === undefined ? [] : Array.isArray(value) ? value : [value];
    const there = listOf(own(within, name));
    if (operator === "replace") within[name] = given;
    else if (operator === "add") within[name] = united(there, given, name);
    else if (value === undefined) delete within[name];
    else {
      const gone = new Set(given.map(keyOf));
      within[name] = there.filter((one) => !gone.has(keyOf(one)));
    }
  } else if (isRemoved) delete within[name];
  else if (isObject(value)) merge(inner(within, name), value);
  else within[name] = value;
  if (extension !== undefined && Object.keys(within).length === 0) {
    delete document[nameIn(document, extension)];
  }
}

/** Changes those of a list that a filter finds. */
function applyFiltered(
  within: Document,
  name: string,
  { filter, part, operator, value }: {
    readonly filter: readonly Term[];
    readonly part: string | undefined;
    readonly operator: Operator;
    readonly value: unknown;
  },
): void {
  const there = listOf(own(within, name));
  // IDs of members are not the same in another case
  const isFound = (one: unknown) => filter.every((term) => fits(one, term, name !== "members"));
  if (operator === "remove" && part === undefined) {
    within[name] = there.filter((one) => !isFound(one));
    return;
  }
  const found = there.filter(isFound);
  if (found.length === 0 && operator === "remove") return;
  if (found.length === 0 && operator === "replace") {
    throw new ScimError("noTarget", `No ${name} fits the filter of the path.`);
  }
  if (found.length === 0) {
    const made = Object.fromEntries(filter.map((term) => [spelt(term.attribute), term.value]));
    within[name] = [...there, made];
    found.push(made);
  }
  for (const one of found) {
    if (!isObject(one)) continue;
    const key = part === undefined ? undefined : nameIn(one, part);
    if (key === undefined && isObject(value)) merge(one, value);
    else if (operator === "remove" || value === undefined) delete one[key ?? "value"];
    else one[key ?? "value"] = value;
  }
}

function fits(one: unknown, { attribute, value }: Term, foldsCase: boolean): boolean {
  const there = isObject(one) ? valueOf(one, attribute) : attribute === "value" ? one : undefined;
  // as texts, since booleans may be some: `primary eq "True"`
  const text = (of: unknown) => foldsCase ? String(of).toLowerCase() : String(of);
  return there !== undefined && text(there) === text(value);
}

/** The object of that name, which is made if there is none. */
function inner(document: Document, name: string): Document {
  const there = own(document, name);
  if (isObject(there)) return there;
  return document[nameIn(document, name)] = {};
}

/** What an object has itself of that name: not `constructor`, which all objects have. */
function own(object: Attributes, name: string): unknown {
  const key = nameIn(object, name);
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function merge(object: Document, values: Attributes): void {
  for (const [name, value] of Object.entries(values)) {
    // assigned to, this name would be the object's prototype
    if (name === "__proto__") continue;
    const key = nameIn(object, name);
    if (value === null) delete object[key];
    else object[key] = value;
  }
}

/** Both lists, without those of the second that the first has. */
function united(
  there: readonly unknown[],
  more: readonly unknown[],
  name: string,
): unknown[] {
  const identityOf = name === "members" ? keyOf : (one: unknown) => JSON.stringify(one);
  const all = new Map(there.map((one) => [identityOf(one), one]));
  for (const one of more) if (!all.has(identityOf(one))) all.set(identityOf(one), one);
  return [...all.values()];
}

/** By what somebody names a value of a list. */
function keyOf(one: unknown): string {
  return JSON.stringify(isObject(one) ? valueOf(one, "value") ?? one : one);
}
