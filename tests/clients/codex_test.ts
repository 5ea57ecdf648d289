import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { checkResponsesStream } from "../wire/dialects/legal_responses.ts";
import { usageRecords } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";
import { assertUnderstood, CODEX, codexDesk } from "./codex.ts";

const DIALECTS = ["chat", "messages", "responses"] as const;
const PICTURE = new URL("../requests/images/files/rgb.png", import.meta.url);
const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const PATCH = [
  "*** Begin Patch",
  "*** Update File: notes.txt",
  "@@",
  " alpha",
  "-beta",
  "+gamma",
  "*** End Patch",
  "",
].join("\n");
const READ = { cmd: "cat notes.txt" };
const RUN = { cmd: "cat notes.txt > copy.txt && echo RAN" };

const call = (name: string, args: unknown) => `[[call ${name} ${JSON.stringify(args)}]]`;
const SAY = "[[say The file is edited.]]";

/** The tools that a model of Codex's own list is offered, which take JavaScript that calls the other tools. */
const SCRIPT = [
  `const read = await tools.exec_command(${JSON.stringify(READ)});`,
  "text(read.output);",
  `await tools.apply_patch(${JSON.stringify(PATCH)});`,
  `const run = await tools.exec_command(${JSON.stringify(RUN)});`,
  "text(run.output);",
].join("\n");

/** The forms in which Codex asks, by the model's name; each is an alias of the same route here. */
const FORMS = [
  {
    form: "classic form, a model that it does not know",
    model: "svc-k3",
    // there is no tool for patches: a model edits by commands
    steps: () => [
      call("exec_command", READ),
      call("exec_command", { cmd: `apply_patch <<'EOF'\n${PATCH}EOF` }),
      call("exec_command", RUN),
    ],
  },
  {
    form: "classic form, with a custom tool",
    model: "gpt-5.5",
    steps: () => [
      call("exec_command", READ),
      call("apply_patch", { input: PATCH }),
      call("exec_command", RUN),
    ],
  },
  {
    form: "lite form",
    model: "gpt-5.6-sol",
    // translated, a tool's name has its namespace in it
    steps: (dialect: string) => [
      call(dialect === "responses" ? "exec" : "functions__exec", { input: SCRIPT }),
    ],
  },
] as const;

for (const dialect of DIALECTS) {
  for (const { form, model, steps } of FORMS) {
    Deno.test(`Codex reads, edits and runs over a ${dialect} upstream: ${form}`, {
      ignore: CODEX === undefined,
    }, async () => {
      await using server = simulateServer();
      await using desk = await codexDesk({
        upstream: { url: server.url, dialect },
        aliases: { "gpt-*": "svc-k3" },
      });
      const { directory, exchanges, gateway } = desk;
      await Deno.writeTextFile(`${directory}/notes.txt`, "alpha\nbeta\n");
      const rounds = steps(dialect);
      const prompt = ["Edit the file.", [...rounds, SAY].join(" [[then]] ")].join(" ");
      const run = await desk.exec(prompt, { model });
      const told = `${run.out}\n${run.err}`;

      assertEquals(run.code, 0, told);
      assertEquals(run.out.trim(), "The file is edited.", told);
      assertEquals(await Deno.readTextFile(`${directory}/notes.txt`), "alpha\ngamma\n", told);
      assertEquals(await Deno.readTextFile(`${directory}/copy.txt`), "alpha\ngamma\n", told);
      assertUnderstood(run);

      assertEquals(exchanges.length, rounds.length + 1, told);
      for (const { status, text, headers, body } of exchanges) {
        assertEquals(status, 200);
        assertEquals(checkResponsesStream(text()).response.status, "completed");
        assertEquals(
          headers.get("x-openai-internal-codex-responses-lite"),
          form === "lite form" ? "true" : null,
        );
        assertEquals(body.tools === undefined, form === "lite form");
      }
      const records = await usageRecords(gateway);
      assertEquals(records.map((one) => [one.dialect, one.ending, one.attempts]), [
        ...exchanges.map(() => ["responses", "complete", 1]),
      ]);
      assertKept(server.bodies);
    });
  }
}

/** What else people do with it: each must end well after this many requests. */
const TASKS: Readonly<
  Record<string, {
    readonly prompt: string;
    readonly args?: (directory: string) => readonly string[];
    readonly settings?: readonly string[];
    readonly requests: number;
    readonly prints: RegExp;
    /** Dialects of upstreams that do not show it. */
    readonly notOver?: readonly string[];
  }>
> = {
  "two commands at once": {
    prompt: `${call("exec_command", { cmd: "echo A" })} ${
      call("exec_command", { cmd: "echo B" })
    } [[then]] [[say Both ran.]]`,
    requests: 2,
    prints: /^Both ran\.$/,
  },
  "output of a schema": {
    prompt: "A city, please",
    args: (directory) => ["--output-schema", `${directory}/schema.json`],
    requests: 1,
    prints: /^\{"city":".*"\}$/,
  },
  "a picture": {
    prompt: "What is it?",
    args: (directory) => ["--image", `${directory}/picture.png`, "--"],
    requests: 1,
    prints: /PNG of 48 × 32 pixels/,
  },
  "a conversation that is compacted": {
    prompt: `${call("exec_command", { cmd: "seq 1 3000" })} [[then]] [[say END]]`,
    settings: ["model_auto_compact_token_limit = 9000"],
    requests: 3,
    prints: /simulated/,
    // one message of the user's there: the directive would be carried out again after each summary
    notOver: ["messages"],
  },
};

for (const dialect of DIALECTS) {
  for (
    const [what, { prompt, args, settings, requests, prints, notOver }] of Object.entries(TASKS)
  ) {
    if (notOver?.includes(dialect)) continue;
    Deno.test(
      `Codex over a ${dialect} upstream: ${what}`,
      { ignore: CODEX === undefined },
      async () => {
        await using server = simulateServer();
        await using desk = await codexDesk({ upstream: { url: server.url, dialect } });
        const { directory } = desk;
        await Deno.writeTextFile(`${directory}/schema.json`, JSON.stringify(CITY));
        await Deno.copyFile(PICTURE, `${directory}/picture.png`);
        const run = await desk.exec(prompt, {
          model: "svc-k3",
          args: args?.(directory) ?? [],
          settings: settings ?? [],
        });
        const told = `${run.out}\n${run.err}`;
        assertEquals(run.code, 0, told);
        assertMatch(run.out.trim(), prints, told);
        assertUnderstood(run);
        assertEquals(desk.exchanges.length, requests, told);
        for (const { text } of desk.exchanges) {
          assertEquals(checkResponsesStream(text()).response.status, "completed");
        }
      },
    );
  }
}

/** Upstreams find what they have cached only if a turn begins with all that the turn before it was. */
// deno-lint-ignore no-explicit-any -- bodies as they were sent
function assertKept(bodies: readonly any[]): void {
  for (const [at, body] of bodies.entries()) {
    const before = bodies[at - 1];
    if (before === undefined) continue;
    const list = (one: typeof body) => one.messages ?? one.input;
    assert(list(body).length > list(before).length);
    for (const [index, message] of list(before).entries()) {
      assertEquals(list(body)[index], message, `message ${index} of turn ${at} stays`);
    }
    const rest = ({ messages: _, input: __, client_metadata: ___, ...more }: typeof body) => more;
    assertEquals(JSON.stringify(rest(body)), JSON.stringify(rest(before)), "all else stays");
  }
}

Deno.test("Codex continues a session, and the prefix stays the same", {
  ignore: CODEX === undefined,
}, async () => {
  await using server = simulateServer();
  await using desk = await codexDesk({ upstream: { url: server.url, dialect: "messages" } });
  const model = "svc-k3";
  await desk.exec("First [[reason]] [[say ONE]]", { model });
  const { out, err } = await desk.exec("[[say TWO]]", { model, args: ["resume", "--last"] });
  assertStringIncludes(out, "TWO", err);
  assertKept(server.bodies);
  assertEquals(server.bodies.length, 2);
});

for (const { form, model, steps } of FORMS) {
  Deno.test(`Codex reads, edits and runs over a WebSocket: ${form}`, {
    ignore: CODEX === undefined,
  }, async () => {
    await using server = simulateServer();
    await using desk = await codexDesk({
      upstream: { url: server.url, dialect: "chat" },
      aliases: { "gpt-*": "svc-k3" },
    });
    const { directory, exchanges, gateway } = desk;
    await Deno.writeTextFile(`${directory}/notes.txt`, "alpha\nbeta\n");
    const rounds = steps("chat");
    const prompt = [...rounds, SAY].join(" [[then]] ");
    const run = await desk.exec(prompt, { model, webSocket: true });
    const told = `${run.out}\n${run.err}`;
    assertEquals([run.code, run.out.trim()], [0, "The file is edited."], told);
    assertEquals(await Deno.readTextFile(`${directory}/copy.txt`), "alpha\ngamma\n", told);
    assertUnderstood(run);
    assertEquals(exchanges, [], "nothing goes over HTTP");
    const records = await usageRecords(gateway);
    assertEquals(records.map(({ ending }) => ending), [
      "complete",
      ...rounds.map(() => "complete"),
    ]);
    assertKept(server.bodies);
  });
}
