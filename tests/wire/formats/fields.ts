/**
 * Every field of the wire formats that may hold text, from the type declarations of the SDKs, each in the
 * smallest body that has it. They are read again in each run, so that they are always the SDKs' own.
 *
 * @module
 */

// so that the packages whose declarations are read are there
import "@anthropic-ai/sdk";
import "openai";
import ts from "typescript";
import deno from "../../../deno.json" with { type: "json" };

const IMPORTS = deno.scopes["./tests/"];

/** Stands for the text in a body. */
export const MARK = "§text§";

/** A field that may hold text, and a body around it in which {@linkcode MARK} stands for the text. */
export interface WireField {
  readonly path: string;
  readonly body: unknown;
}

/** The fields of each type that goes over the wire. */
export type WireFields = Readonly<Record<keyof typeof SOURCES, readonly WireField[]>>;

const CHAT = "resources/chat/completions/completions.d.ts";
const MESSAGES = "resources/beta/messages/messages.d.ts";
const RESPONSES = "resources/responses/responses.d.ts";

const SOURCES = {
  chatRequest: ["openai", CHAT, "ChatCompletionCreateParamsNonStreaming"],
  chatReply: ["openai", CHAT, "ChatCompletion"],
  chatChunk: ["openai", CHAT, "ChatCompletionChunk"],
  messagesRequest: ["@anthropic-ai/sdk", MESSAGES, "MessageCreateParamsNonStreaming"],
  messagesReply: ["@anthropic-ai/sdk", MESSAGES, "BetaMessage"],
  messagesEvent: ["@anthropic-ai/sdk", MESSAGES, "BetaRawMessageStreamEvent"],
  responsesRequest: ["openai", RESPONSES, "ResponseCreateParamsNonStreaming"],
  responsesReply: ["openai", RESPONSES, "Response"],
  responsesEvent: ["openai", RESPONSES, "ResponseStreamEvent"],
} as const;

let fields: Promise<WireFields> | undefined;

/** The fields of the declarations, which are read once. */
export function readFields(): Promise<WireFields> {
  return fields ??= fieldsOfDeclarations();
}

async function fieldsOfDeclarations(): Promise<WireFields> {
  const files = await Promise.all(
    Object.entries(SOURCES).map(async ([name, [sdk, file, type]]) =>
      [name, `${await packageFolder(sdk)}/${file}`, type] as const
    ),
  );
  // nothing of a browser goes over the wire, and its types take as long to read as the SDKs'
  const program = declarations(files.map(([, file]) => file), { lib: ["lib.esnext.d.ts"] });
  const checker = program.getTypeChecker();
  return Object.fromEntries(files.map(([name, file, wanted]) => {
    const source = program.getSourceFile(file)!;
    const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(source)!)
      .find((one) => one.name === wanted)!;
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const bodies = new Map<string, WireField>();
    for (const field of new Fields(checker).of(type)) {
      const key = `${field.path} ${JSON.stringify(field.body)}`;
      bodies.set(key, field);
    }
    return [name, [...bodies.values()]];
  })) as unknown as WireFields;
}

/** Reads files of declarations, as the SDKs' users do. */
export function declarations(
  paths: readonly string[],
  options: ts.CompilerOptions = {},
): ts.Program {
  return ts.createProgram(paths, {
    strict: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    skipLibCheck: true,
    types: [],
    ...options,
  });
}

const MAX_DEPTH = 14;

class Fields {
  readonly #checker: ts.TypeChecker;
  readonly #open = new Set<ts.Type>();

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** Each field below a type, with the value around it. */
  of(type: ts.Type, path = ""): WireField[] {
    if (this.#open.size > MAX_DEPTH || this.#open.has(type)) return [];
    if (type.flags & (ts.TypeFlags.Unknown | ts.TypeFlags.Any | ts.TypeFlags.String)) {
      return [{ path, body: MARK }];
    }
    if (type.isUnion()) return type.types.flatMap((one) => this.of(one, path));
    if (type.isIntersection()) {
      // `string & {}` keeps a list of names open
      const isText = type.types.some(({ flags }) => flags & ts.TypeFlags.String);
      if (isText) return [{ path, body: MARK }];
    } else if (!(type.flags & ts.TypeFlags.Object)) return [];
    if (type.getCallSignatures().length > 0) return [];
    this.#open.add(type);
    try {
      return this.#below(type, path);
    } finally {
      this.#open.delete(type);
    }
  }

  #below(type: ts.Type, path: string): WireField[] {
    const element = this.#elementOf(type);
    if (element !== undefined) {
      return this.of(element, `${path}[]`).map((field) => ({ ...field, body: [field.body] }));
    }
    const required = this.#required(type);
    const fields = this.#checker.getPropertiesOfType(type).flatMap((property) => {
      const own = this.#checker.getTypeOfSymbol(property);
      return this.of(own, path === "" ? property.name : `${path}.${property.name}`)
        .map((field) => ({ ...field, body: { ...required, [property.name]: field.body } }));
    });
    const index = this.#checker.getIndexInfoOfType(type, ts.IndexKind.String);
    const kind = typeof required.type === "string" ? `(${required.type})` : "";
    const open = index === undefined ? [] : this.of(index.type, `${path}.*`)
      .map((field) => ({ ...field, body: { ...required, note: field.body } }));
    return [...fields, ...open].map((field) => ({
      ...field,
      path: kind === "" || !field.path.startsWith(path)
        ? field.path
        : `${path}${kind}${field.path.slice(path.length)}`,
    }));
  }

  #elementOf(type: ts.Type): ts.Type | undefined {
    return this.#checker.isArrayType(type)
      ? this.#checker.getTypeArguments(type as ts.TypeReference)[0]
      : undefined;
  }

  #required(type: ts.Type, depth = 0): Record<string, unknown> {
    return Object.fromEntries(
      this.#checker.getPropertiesOfType(type)
        .filter(({ flags }) => !(flags & ts.SymbolFlags.Optional))
        .map((property) => [
          property.name,
          property.name === "index"
            ? 0
            : this.#example(this.#checker.getTypeOfSymbol(property), depth + 1),
        ]),
    );
  }

  /** A small value of a type. */
  #example(type: ts.Type, depth: number): unknown {
    if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
    if (type.flags & ts.TypeFlags.Null) return null;
    if (type.flags & ts.TypeFlags.BooleanLike) return true;
    if (type.flags & ts.TypeFlags.NumberLike) return 1;
    if (type.flags & ts.TypeFlags.StringLike || type.flags & ts.TypeFlags.Unknown) return "x";
    if (type.isUnion()) {
      const empty = type.types.find(({ flags }) => flags & ts.TypeFlags.Null);
      return this.#example(empty ?? type.types[0]!, depth);
    }
    if (type.isIntersection() && type.types.some(({ flags }) => flags & ts.TypeFlags.String)) {
      return "x";
    }
    const element = this.#elementOf(type);
    if (element !== undefined) return depth > 6 ? [] : [this.#example(element, depth + 1)];
    return depth > 6 ? {} : this.#required(type, depth);
  }
}

let cache: Promise<string> | undefined;

/** Where the runtime keeps packages. */
async function readCache(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).npmCache;
}

/** Where the runtime keeps a package that the import map names. */
export async function packageFolder(name: keyof typeof IMPORTS): Promise<string> {
  const [, version] = /^npm:@?[^@]+@([^/]+)/.exec(IMPORTS[name])!;
  const npmCache = await (cache ??= readCache());
  for await (const registry of Deno.readDir(npmCache)) {
    const folder = `${npmCache}/${registry.name}/${name}/${version}`;
    if (await Deno.stat(`${folder}/package.json`).then(() => true, () => false)) return folder;
  }
  throw new Error(`the package ${name} ${version} is not in the cache`);
}
