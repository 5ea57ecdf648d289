/**
 * The fields of the SDKs' request types, and the kinds of tools and parts in them, as their declarations have them now.
 *
 * @module
 */

// so that the packages whose declarations are read are there
import "@anthropic-ai/sdk";
import "openai";
import ts from "typescript";
import type { DialectName } from "../../../src/wire/dialects/mod.ts";
import { declarations, packageFolder } from "../formats/fields.ts";

/** What a request of a dialect may have. */
export interface RequestTypes {
  readonly fields: readonly string[];
  /** Those of its beta, where the SDK declares that apart. */
  readonly betaFields: readonly string[];
  readonly tools: readonly string[];
  readonly parts: readonly string[];
  /** Names of all fields below the request's own. */
  readonly nested: readonly string[];
  /** Fields that the reply has, too, under the same name. */
  readonly repeated: readonly string[];
}

const SOURCES = {
  chat: {
    sdk: "openai",
    file: "resources/chat/completions/completions.d.ts",
    request: "ChatCompletionCreateParamsNonStreaming",
    reply: "ChatCompletion",
    tools: ["ChatCompletionTool"],
    parts: ["ChatCompletionContentPart"],
  },
  messages: {
    sdk: "@anthropic-ai/sdk",
    file: "resources/beta/messages/messages.d.ts",
    request: "MessageCreateParamsNonStreaming",
    reply: "BetaMessage",
    tools: ["BetaToolUnion"],
    parts: ["BetaContentBlockParam"],
  },
  responses: {
    sdk: "openai",
    file: "resources/responses/responses.d.ts",
    request: "ResponseCreateParamsNonStreaming",
    beta: "resources/beta/responses/responses.d.ts",
    reply: "Response",
    tools: ["Tool"],
    parts: ["ResponseInputItem", "ResponseInputContent"],
  },
} as const satisfies Record<DialectName, unknown>;

/** Reads the declarations. */
export async function readRequestTypes(): Promise<Readonly<Record<DialectName, RequestTypes>>> {
  const sources = await Promise.all(
    Object.entries(SOURCES).map(async ([name, source]) => ({
      name,
      source,
      path: `${await packageFolder(source.sdk)}/${source.file}`,
      beta: "beta" in source ? `${await packageFolder(source.sdk)}/${source.beta}` : undefined,
    })),
  );
  const program = declarations(
    sources.flatMap(({ path, beta }) => beta === undefined ? [path] : [path, beta]),
  );
  const checker = program.getTypeChecker();
  return Object.fromEntries(sources.map(({ name, source, path, beta }) => {
    const typeIn = (file: string, wanted: string) => {
      const symbol = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
      const exported = checker.getExportsOfModule(symbol);
      return checker.getDeclaredTypeOfSymbol(exported.find((one) => one.name === wanted)!);
    };
    const typeOf = (wanted: string) => typeIn(path, wanted);
    const kindsOf = (wanted: readonly string[]) =>
      [
        ...new Set(wanted.flatMap((one) => kindsIn(checker, typeOf(one)))),
      ].toSorted();
    const namesOf = (wanted: string) =>
      checker.getPropertiesOfType(typeOf(wanted)).map((one) => one.name);
    const inReply = new Set(namesOf(source.reply));
    return [name, {
      repeated: namesOf(source.request).filter((one) => inReply.has(one)),
      fields: namesOf(source.request),
      betaFields: beta === undefined
        ? []
        : checker.getPropertiesOfType(typeIn(beta, source.request)).map((one) => one.name),
      tools: kindsOf(source.tools),
      parts: kindsOf(source.parts),
      nested: nestedIn(checker, typeOf(source.request)),
    }];
  })) as unknown as Readonly<Record<DialectName, RequestTypes>>;
}

/** Names of the fields of everything that the fields of a type may hold. */
function nestedIn(checker: ts.TypeChecker, request: ts.Type): string[] {
  const names = new Set<string>();
  const seen = new Set<ts.Type>();
  const look = (type: ts.Type, isTop: boolean) => {
    if (seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) return type.types.forEach((one) => look(one, isTop));
    if (!(type.flags & ts.TypeFlags.Object) || type.getCallSignatures().length > 0) return;
    if (checker.isArrayType(type)) {
      return checker.getTypeArguments(type as ts.TypeReference).forEach((one) => look(one, isTop));
    }
    for (const property of checker.getPropertiesOfType(type)) {
      if (!isTop) names.add(property.name);
      look(checker.getTypeOfSymbol(property), false);
    }
    const index = checker.getIndexInfoOfType(type, ts.IndexKind.String);
    if (index !== undefined) look(index.type, false);
  };
  look(request, true);
  return [...names].toSorted();
}

/** The values that `type` has in the members of a union. */
function kindsIn(checker: ts.TypeChecker, type: ts.Type): string[] {
  return (type.isUnion() ? type.types : [type]).flatMap((member) => {
    const property = member.getProperty("type");
    if (property === undefined) return [];
    const own = checker.getTypeOfSymbol(property);
    return (own.isUnion() ? own.types : [own])
      .flatMap((one) => (one.isStringLiteral() ? [one.value] : []));
  });
}
