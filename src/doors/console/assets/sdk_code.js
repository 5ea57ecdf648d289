// Commands and programs that send the playground's request: with curl and by the SDKs.

/** A longer request is read from a file, so that what is shown runs as it is. */
const MAX_CHARS = 4_000;

/** The file that a long request is read from. */
export const REQUEST_FILE = "request.json";

/** Whether a request is read from a file. */
export function isLong(body) {
  return JSON.stringify(body).length > MAX_CHARS;
}

export function inCurl(path, body, origin) {
  const data = isLong(body)
    ? `@${REQUEST_FILE}`
    : `'${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
  return `curl ${body.stream ? "-N " : ""}${origin}${path} \\\n` +
    `  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n` +
    `  -H 'Content-Type: application/json' \\\n  -d ${data}`;
}

export function inJavaScript(sdk, { stream = false, ...rest }, origin) {
  const body = stream ? { ...rest, stream } : rest;
  const [head, request] = isLong(body)
    ? [
      `import { readFile } from "node:fs/promises";\n${sdk.js(origin)}\n` +
      `const request = JSON.parse(await readFile("${REQUEST_FILE}", "utf8"));`,
      "request",
    ]
    : [sdk.js(origin), JSON.stringify(body, null, 2)];
  const call = `await client.${sdk.method}(${request});`;
  if (!stream) return `${head}\nconst answer = ${call}\nconsole.log(${sdk.whole.js});`;
  const [test, text] = sdk.stream.js;
  return `${head}\nconst events = ${call}\n` +
    `for await (const event of events) {\n  ${
      test && `if (${test}) `
    }process.stdout.write(${text});\n}\nconsole.log();`;
}

export function inPython(sdk, { stream = false, ...rest }, origin) {
  const body = stream ? { ...rest, stream } : rest;
  const [head, fields] = isLong(body)
    ? [
      `import json\n\n${
        sdk.python(origin)
      }\nrequest = json.load(open("${REQUEST_FILE}", encoding="utf-8"))`,
      "**request",
    ]
    : [
      sdk.python(origin),
      `\n${
        Object.entries(body).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},\n`)
          .join("")
      }`,
    ];
  const call = `client.${sdk.method}(${fields})`;
  if (!stream) return `${head}\nanswer = ${call}\nprint(${sdk.whole.python})`;
  const [test, text] = sdk.stream.python;
  return `${head}\nfor event in ${call}:\n` +
    `    ${test}:\n        print(${text}, end="", flush=True)\nprint()`;
}

/** A value of JSON as Python writes it. */
function pythonOf(value, indent) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((one) => pythonOf(one, inner))
    : Object.entries(value).map(([name, one]) =>
      `${JSON.stringify(name)}: ${pythonOf(one, inner)}`
    );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (lines.length === 0) return open + close;
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
}
