// Programs that send the playground's request, by the SDKs.

/** The longest text that is shown whole. */
const MAX_CHARS = 300;

export function inJavaScript(sdk, { stream, ...rest }, origin) {
  const call = (body) => `await client.${sdk.method}(${short(body)});`;
  if (!stream) {
    return `${sdk.js(origin)}\nconst answer = ${call(rest)}\nconsole.log(${sdk.whole.js});`;
  }
  const [test, text] = sdk.stream.js;
  return `${sdk.js(origin)}\nconst events = ${call({ ...rest, stream })}\n` +
    `for await (const event of events) {\n  ${
      test && `if (${test}) `
    }process.stdout.write(${text});\n}`;
}

export function inPython(sdk, { stream, ...rest }, origin) {
  const call = (body) =>
    `client.${sdk.method}(\n${
      Object.entries(body).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},\n`).join(
        "",
      )
    })`;
  if (!stream) {
    return `${sdk.python(origin)}\nanswer = ${call(rest)}\nprint(${sdk.whole.python})`;
  }
  const [test, text] = sdk.stream.python;
  return `${sdk.python(origin)}\nfor event in ${call({ ...rest, stream })}:\n` +
    `    ${test}:\n        print(${text}, end="", flush=True)`;
}

/** A value of JSON as Python writes it. */
function pythonOf(value, indent) {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return short(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((one) => pythonOf(one, inner))
    : Object.entries(value).map(([name, one]) =>
      `${JSON.stringify(name)}: ${pythonOf(one, inner)}`
    );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
}

function short(value) {
  return JSON.stringify(
    value,
    (_, one) => typeof one === "string" && one.length > MAX_CHARS ? `${one.slice(0, 60)}…` : one,
    2,
  );
}
