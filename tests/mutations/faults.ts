import ts from "typescript";

/** Where a part of a text begins and ends. */
export type Range = readonly [start: number, end: number];

/** A small fault, made by rule: a part of a source text, and what stands there instead. */
export interface Fault {
  /** What was done, such as `the guard never holds`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** From 1. */
  readonly line: number;
  /** What stood there. */
  readonly was: string;
  /** Expressions whose evaluation reaches the fault; none if that is not known, as of a constant that others import. */
  readonly places: readonly Range[];
}

const FLIPPED: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, "<="],
  [ts.SyntaxKind.LessThanEqualsToken, "<"],
  [ts.SyntaxKind.GreaterThanToken, ">="],
  [ts.SyntaxKind.GreaterThanEqualsToken, ">"],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, "==="],
]);

const READS_CLOCK = /\b(performance|Date)\.now\(\)/;
const IS_SQL = /\b(select|insert into|update|delete from|create trigger|create view)\b/i;

/** All faults that a source text can be given, in the order of the text. */
export function faultsIn(file: string, source: string): Fault[] {
  const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, kind);
  const faults: Fault[] = [];
  const add = (
    kind: string,
    [start, end]: Range,
    replacement: string,
    places: readonly ts.Node[],
  ) => {
    const line = tree.getLineAndCharacterOfPosition(start).line + 1;
    const was = source.slice(start, end);
    faults.push({ kind, start, end, replacement, line, was, places: places.map(rangeOf) });
  };
  const replace = (kind: string, node: ts.Node, replacement: string, place = node) =>
    add(kind, rangeOf(node), replacement, [place]);
  const visit = (node: ts.Node): void => {
    if (ts.isConditionalExpression(node) && choosesWords(node)) {
      return [node.whenTrue, node.whenFalse].forEach(visit);
    }
    if (ts.isIfStatement(node)) {
      replace("the condition never holds", node.expression, "false");
      if (node.elseStatement === undefined && !isEscape(node.thenStatement)) {
        replace("the condition always holds", node.expression, "true");
      }
    } else if (ts.isConditionalExpression(node)) {
      replace("negated", node.condition, `!(${node.condition.getText()})`);
    } else if (ts.isBinaryExpression(node)) {
      const { operatorToken, left, right } = node;
      const flipped = FLIPPED.get(operatorToken.kind);
      // no test, and no client, comes at the very instant that a clock shows
      const isBound = !/^[<>]=?$/.test(operatorToken.getText()) || !isOfClock(node);
      if (flipped !== undefined && isBound) replace("flipped", operatorToken, flipped, node);
      const isBoth = operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
      // what stands in a text for what is empty is words, too
      const isWord = ts.isStringLiteral(right) && ts.isTemplateSpan(node.parent);
      if (isBoth || operatorToken.kind === ts.SyntaxKind.BarBarToken && !isWord) {
        replace("only the left part", node, left.getText());
        if (!isForTheType(node)) replace("only the right part", node, right.getText());
      }
    } else if (ts.isCallExpression(node) && /^Math\.(min|max)$/.test(node.expression.getText())) {
      const other = node.expression.getText() === "Math.min" ? "Math.max" : "Math.min";
      replace(`${other} instead`, node.expression, other, node);
    } else if (isText(node) && IS_SQL.test(node.getText())) {
      for (const [start, end] of clausesIn(node.getText())) {
        const range = [node.getStart() + start, node.getStart() + end] as const;
        // what is bound to it still has a place: otherwise the statement would fail
        const bound = source.slice(...range).match(/\?(?!\d)/g) ?? [];
        const rest = bound.map(() => " and (true or ? is null)").join("");
        add("a clause is left out", range, rest, placesOf(node));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return faults;
}

/** Whether an expression reads a clock, or a constant of its function that was made of what a clock showed. */
function isOfClock(node: ts.Node): boolean {
  if (READS_CLOCK.test(node.getText())) return true;
  if (ts.isPropertyAccessExpression(node)) return isOfClock(node.expression);
  if (ts.isIdentifier(node)) {
    const made = constantOf(node);
    return made?.initializer !== undefined && isOfClock(made.initializer);
  }
  return !ts.isFunctionLike(node) && (ts.forEachChild(node, (one) => isOfClock(one)) ?? false);
}

/** The constant of a function that a name is of. */
function constantOf(name: ts.Identifier): ts.VariableDeclaration | undefined {
  for (let block: ts.Node = name.parent; !ts.isSourceFile(block); block = block.parent) {
    if (!ts.isBlock(block)) continue;
    const made = block.statements.filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => [...declarationList.declarations])
      .find((one) => one.name.getText() === name.text && one.end <= name.pos);
    if (made !== undefined) return made;
  }
  return undefined;
}

/** Whether a condition only chooses between words for people, such as `credit` and `credits`: what a message says is no rule. */
function choosesWords({ whenTrue, whenFalse }: ts.ConditionalExpression): boolean {
  const texts = [whenTrue, whenFalse].flatMap((node) =>
    isText(node) ? node.getText().slice(1, -1) : []
  );
  if (texts.length < 2) return false;
  const [shorter, longer] = texts.toSorted((a, b) => a.length - b.length) as [string, string];
  return `${shorter}s` === longer ||
    !IS_SQL.test(texts.join()) && texts.some((one) => /[a-z] [a-z]/.test(one));
}

/**
 * Whether the left part of a condition is there for the type alone: in `x !== undefined && x < y` nothing compares with undefined,
 * and what `x instanceof DatabaseError && x.isDuplicate` reads no other error has.
 */
function isForTheType({ left, right }: ts.BinaryExpression): boolean {
  const [, name, test] = /^(.+) (!== undefined|instanceof \w+)$/.exec(left.getText()) ?? [];
  if (name === undefined) return false;
  if (test !== "!== undefined") {
    return right.getText().startsWith(`${name}.`) &&
      /^\.(is[A-Z]\w*|outcomeUnknown)$/.test(right.getText().slice(name.length));
  }
  return ts.isBinaryExpression(right) && /^[<>]=?$/.test(right.operatorToken.getText()) &&
    [right.left, right.right].some((side) => side.getText() === name);
}

/** Where a text is used: itself, within a function; where the constant is named that it is made into, otherwise. */
function placesOf(node: ts.Node, seen: ReadonlySet<ts.Node> = new Set()): readonly ts.Node[] {
  const owner = ts.findAncestor(node, (one) => ts.isFunctionLike(one) || isConstant(one));
  if (owner === undefined || seen.has(owner)) return [];
  if (!isConstant(owner)) return ts.isExpression(node) && canBeWrapped(node) ? [node] : [];
  const uses: ts.Node[] = [];
  const visit = (one: ts.Node): void => {
    if (ts.isIdentifier(one) && one.text === owner.name.getText() && canBeWrapped(one)) {
      uses.push(one);
    }
    ts.forEachChild(one, visit);
  };
  visit(node.getSourceFile());
  return uses.filter((use) => use !== owner.name)
    .flatMap((use) => placesOf(use, new Set([...seen, owner])));
}

/** Whether it is a constant of the module. */
function isConstant(node: ts.Node): node is ts.VariableDeclaration {
  return ts.isVariableDeclaration(node) && ts.isSourceFile(node.parent.parent.parent);
}

/** Whether parentheses around an expression leave it what it is: a name is also a property's, an import's, a type's. */
function canBeWrapped(node: ts.Node): boolean {
  const { parent } = node;
  if (
    ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent) || ts.isParameter(parent)
  ) {
    return parent.initializer === node;
  }
  if (ts.isPropertyAccessExpression(parent) || ts.isTemplateSpan(parent)) {
    return parent.expression === node;
  }
  return ts.isCallExpression(parent) || ts.isNewExpression(parent) ||
    ts.isBinaryExpression(parent) || ts.isConditionalExpression(parent) ||
    ts.isParenthesizedExpression(parent) || ts.isArrayLiteralExpression(parent) ||
    ts.isReturnStatement(parent) || ts.isArrowFunction(parent);
}

function rangeOf(node: ts.Node): Range {
  return [node.getStart(), node.getEnd()];
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** Whether a statement does nothing but leave: without its condition everything behind it would be dead. */
function isEscape(node: ts.Statement): boolean {
  const only = ts.isBlock(node) && node.statements.length === 1 ? node.statements[0]! : node;
  return ts.isReturnStatement(only) || ts.isThrowStatement(only) || ts.isContinueStatement(only) ||
    ts.isBreakStatement(only);
}

/** What a clause of SQL ends before. */
const ENDS_CLAUSE =
  /^\s+(and|or|then|when|else|end|order|group|having|limit|returning|begin|on|do|union|except|intersect|where|(?:left |full |cross )?join)\b/i;
/** Whether the next `and` is that of `between`. */
const IS_BETWEEN = /\bbetween\s(?:(?!\sand\s).)+$/is;

/** Where a statement of SQL has ` and …`, up to what ends the clause. */
function clausesIn(text: string): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (const { index, 0: word } of text.matchAll(/\s+and\s/gi)) {
    const from = index + word.length;
    const isInText = text.slice(1, index).split("'").length % 2 === 0;
    if (isInText || IS_BETWEEN.test(text.slice(0, index))) continue;
    let depth = 0;
    let at = from;
    for (; at < text.length; at++) {
      const rest = text.slice(at);
      if (
        depth === 0 && ENDS_CLAUSE.test(rest) &&
        !(/^\s+and\b/i.test(rest) && IS_BETWEEN.test(text.slice(from, at)))
      ) break;
      if (depth === 0 && (/^[;,`"]/.test(rest) || text[at] === text[0])) break;
      if (text[at] === "'") at = Math.max(at, text.indexOf("'", at + 1)); // a text of the statement
      if (text[at] === "(" || text[at] === "{") depth++;
      if ((text[at] === ")" || text[at] === "}") && --depth < 0) break;
    }
    if (text.slice(from, at).trim() !== "") found.push([index, at]);
  }
  return found;
}

/** The source text with a fault in it. */
export function withFault(source: string, { start, end, replacement }: Fault): string {
  return source.slice(0, start) + replacement + source.slice(end);
}
