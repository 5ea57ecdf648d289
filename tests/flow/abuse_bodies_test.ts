import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch } from "../assert.ts";
import { type ChildGateway, startChild, whileServing } from "../fake/child_gateway.ts";
import { startGateway } from "../fake/gateway.ts";
import { Random, testSeed } from "../fake/random.ts";
import { isProof, sized } from "../tier.ts";

const BODY_CHARS = 8 * 1_048_576;
const MEMORY_BYTES = 900 * 1_048_576;
const PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"];
const TOO_MANY = "too many JSON values";
/** So that every body is looked at. */
const UNBOUNDED = { settings: { limits: { unbilledBytesPerMinute: 1e12 } } };
const USER = '"messages":[{"role":"user","content":"Hi"}]';

/** A body of 8 MB: `before`, as many of `element` as fit, `after`. */
function filled(before: string, element: string | ((at: number) => string), after: string): string {
  let middle: string;
  if (typeof element === "string") {
    const times = Math.floor((BODY_CHARS - before.length - after.length) / (element.length + 1));
    middle = `${element},`.repeat(times - 1) + element;
  } else {
    const parts: string[] = [];
    for (let at = 0, chars = 0; chars < BODY_CHARS; at++) {
      parts.push(element(at));
      chars += parts.at(-1)!.length + 1;
    }
    middle = parts.join(",");
  }
  return before + middle + after;
}

const HEAD = '{"model":"svc-k2","max_tokens":9,';

/** What is refused for its number of values, or for its first fault where that is found sooner. */
const KINDS: readonly { why: string; body: () => string; says: RegExp }[] = [
  {
    why: "messages that are none",
    body: () => filled(`${HEAD}"messages":[`, "{}", "]}"),
    says: /too many JSON values|messages/,
  },
  {
    why: "parts of content that are none",
    body: () => filled(`${HEAD}"messages":[{"role":"user","content":[`, "{}", "]}]}"),
    says: /too many JSON values|messages/,
  },
  {
    why: "tools that are none",
    body: () => filled(`${HEAD}${USER},"tools":[`, "{}", "]}"),
    says: /too many JSON values|tools/,
  },
  {
    why: "an unknown field of small objects",
    body: () => filled(`${HEAD}${USER},"unknown":[`, "{}", "]}"),
    says: /too many JSON values/,
  },
  {
    why: "unknown keys",
    body: () => filled(`${HEAD}${USER},`, (at) => `"${at.toString(36)}":0`, "}"),
    // a little fewer than a million: what is carried on is carried quickly
    says: /too many (JSON values|keys)|^$/,
  },
  {
    why: "arrays within each other",
    body: () => `${HEAD}${USER},"unknown":${"[".repeat(4_000_000)}${"]".repeat(4_000_000)}}`,
    says: /nested too deeply|too many JSON values/,
  },
  {
    why: "objects within each other, never closed",
    body: () => `${HEAD}${USER},"unknown":${'{"a":'.repeat(1_600_000)}`,
    says: /nested too deeply|too many JSON values|not valid JSON/,
  },
  {
    why: "an array of numbers",
    body: () => filled(`${HEAD}${USER},"unknown":[`, "1", "]}"),
    says: /too many JSON values/,
  },
  {
    why: "stop sequences",
    body: () => filled(`${HEAD}${USER},"stop_sequences":["a"],"stop":[`, "0", "]}"),
    says: /too many JSON values|stop/,
  },
  {
    why: "a system prompt of parts that are none",
    body: () => filled(`${HEAD}${USER},"system":[`, "{}", "]}"),
    says: /too many JSON values|system/,
  },
  {
    why: "fewer values than the bound, each of them a fault",
    body: () => `${HEAD}"messages":[${"{},".repeat(180_000)}{}]}`,
    says: /messages/,
  },
];

/** Small chats of the other account during an attack with one body. */
const SERVED = sized(3, 40);

/**
 * Posts the bodies, two at once, each to each path, and over and over until the other account has had `chats` small chats;
 * resolves with what was said.
 */
async function postLoop(
  gateway: ChildGateway,
  bodies: readonly string[],
  served: () => number,
  chats: number,
): Promise<{ status: number; type: string; message: string }[]> {
  const said: { status: number; type: string; message: string }[] = [];
  const encoded = bodies.map((body) => new TextEncoder().encode(body));
  let at = 0;
  const one = async () => {
    while (at < PATHS.length * encoded.length || served() < chats) {
      const [path, body] = [PATHS[at % 3]!, encoded[Math.floor(at / 3) % encoded.length]!];
      at++;
      const reply = await gateway.post(path, body);
      const { error } = await reply.json();
      said.push({
        status: reply.status,
        type: error?.type ?? error?.code ?? "",
        message: error?.message ?? "",
      });
    }
  };
  await Promise.all([one(), one()]);
  return said;
}

/** Posts bodies by one account while another one is served; checks what that costs the other. */
async function attack(
  gateway: ChildGateway,
  bodies: readonly string[],
  chats: number,
): Promise<{ status: number; type: string; message: string }[]> {
  const said = await whileServing(
    gateway,
    { worst: 500, median: 50 },
    (served) => postLoop(gateway, bodies, served, chats),
  );
  const peak = await gateway.peakBytes();
  assert(peak < MEMORY_BYTES, `${peak / 1_048_576} MB resident`);
  assert(gateway.alive());
  assertEquals(gateway.errors(), []);
  return said;
}

/** In the gate: the kind that only the number of its values gives away, and this many others. */
const OTHERS = 2;

/** Where values can stand, each with what closes it. */
const PLACES: readonly (readonly [string, string])[] = [
  [`${HEAD}"messages":[`, "]}"],
  [`${HEAD}"messages":[{"role":"user","content":[`, "]}]}"],
  [`${HEAD}"messages":[{"role":"assistant","content":null,"tool_calls":[`, "]}]}"],
  [`${HEAD}"messages":[{"role":"user","content":[{"type":"tool_result","content":[`, "]}]}]}"],
  [`${HEAD}"messages":[{"role":"user","content":"Hi","unknown":[`, "]}]}"],
  [`${HEAD}${USER},"tools":[`, "]}"],
  [
    `${HEAD}${USER},"tools":[{"type":"function","function":{"name":"a","parameters":{"enum":[`,
    "]}}}]}",
  ],
  [`${HEAD}${USER},"tools":[{"name":"a","input_schema":{"type":"object","required":[`, "]}}]}"],
  [`${HEAD}${USER},"system":[`, "]}"],
  [`${HEAD}${USER},"metadata":{"a":[`, "]}}"],
  [`${HEAD}${USER},"tool_choice":{"type":[`, "]}}"],
  [`${HEAD}${USER},"response_format":{"type":"json_schema","json_schema":{"schema":[`, "]}}}"],
  [`${HEAD}${USER},"stop":[`, "]}"],
  [`${HEAD}${USER},"stop_sequences":[`, "]}"],
  [`${HEAD}${USER},"thinking":[`, "]}"],
  [`{"model":[`, "]}"],
  ["[", "]"],
];
const ELEMENTS = [
  "{}",
  "[]",
  "0",
  '""',
  "null",
  "true",
  '"a"',
  '{"a":1}',
  "[[]]",
  '{"type":"text","text":""}',
  '{"role":"user"}',
];

Deno.test("bodies of 8 MB cost nobody else anything", async (t) => {
  const seed = testSeed();
  const random = new Random(seed);
  const kinds = isProof ? KINDS : [
    KINDS.find(({ why }) => why === "an unknown field of small objects")!,
    ...Array.from({ length: OTHERS }, () => random.pick(KINDS)),
  ];
  await using gateway = await startChild(UNBOUNDED);
  for (const { why, body, says } of kinds) {
    await t.step(`${why} (SLUICE_TEST_SEED=${seed})`, async () => {
      for (const { status, type, message } of await attack(gateway, [body()], SERVED)) {
        assertMatch(message, says);
        if (status === 200) continue;
        assertEquals(status, 400);
        assertMatch(type, /^invalid_request/);
      }
    });
  }
  const chosen = Array.from({ length: sized(1, 8) }, () => {
    const [before, after] = random.pick(PLACES);
    return { before, element: random.pick(ELEMENTS), after };
  });
  const which = chosen.map(({ before, element }) => `${before}${element}`).join(" and ");
  await t.step(`any values at any place (SLUICE_TEST_SEED=${seed}): ${which}`, async () => {
    const bodies = chosen.map(({ before, element, after }) => filled(before, element, after));
    for (const { status, message } of await attack(gateway, bodies, 0)) {
      assertEquals(status, 400, message);
    }
  });
});

Deno.test("the number of values is a setting, the same for both dialects and for counting", async () => {
  await using gateway = await startGateway({ settings: { limits: { bodyValues: 100 } } });
  for (const path of PATHS) {
    for (const [more, refused] of [[50, false], [200, true]] as const) {
      const reply = await gateway.post(
        path,
        `{"model":"svc-k2","max_tokens":9,${USER},"unknown":[${"0,".repeat(more)}0]}`,
      );
      const text = await reply.text();
      assertEquals([path, reply.status, text.includes(TOO_MANY)], [
        path,
        refused ? 400 : 200,
        refused,
      ]);
    }
  }
});

/** What people send, on a route without bounds of its own. */
const BIG_ROUTE = {
  targets: [{ upstream: "simulator", model: "big" }],
  context: 50_000_000,
  maxOutput: 1_000,
  minimum: 1,
  prices: { input: 1, cached: 1, output: 1 },
  images: "inline" as const,
};

const properties = Object.fromEntries(
  Array.from({ length: 200 }, (_, at) => [
    `field_${at}`,
    { type: "string", description: "What it is for. ".repeat(10), enum: ["one", "two", "three"] },
  ]),
);

const LEGITIMATE: readonly { why: string; body: () => unknown }[] = [
  {
    why: "4 MB of text in a message",
    body: () => ({ messages: [{ role: "user", content: "some words, \n ".repeat(300_000) }] }),
  },
  {
    why: "2,000 messages",
    body: () => ({
      messages: Array.from({ length: 2_001 }, (_, at) => ({
        role: at % 2 === 0 ? "user" : "assistant",
        content: [{ type: "text", text: `Message ${at}` }],
      })),
    }),
  },
  {
    why: "100 tools with large schemas",
    body: () => ({
      messages: [{ role: "user", content: "Hi" }],
      tools: Array.from({ length: 100 }, (_, at) => ({
        type: "function",
        function: { name: `tool_${at}`, parameters: { type: "object", properties } },
      })),
    }),
  },
  {
    why: "an image of 8 MB of base64",
    body: () => ({
      messages: [{
        role: "user",
        content: [{
          type: "image_url",
          image_url: { url: `data:image/png;base64,${largeImage()}` },
        }],
      }],
    }),
  },
];

/** A real image with a private chunk that makes it 8 MB of base64. */
function largeImage(): string {
  const image = Deno.readFileSync(new URL("../requests/images/files/rgb.png", import.meta.url));
  const header = 8 + 25; // the signature, and the chunk that must come first
  const bytes = new Uint8Array(6 * 1_048_576);
  bytes.set(image.subarray(0, header));
  const chunk = new DataView(bytes.buffer, header);
  chunk.setUint32(0, bytes.length - image.length - 12);
  bytes.set(new TextEncoder().encode("noIs"), header + 4);
  bytes.set(image.subarray(header), bytes.length - image.length + header);
  return Buffer.from(bytes).toString("base64");
}

Deno.test("large bodies that people send are answered", async () => {
  await using gateway = await startGateway({ settings: { routes: { big: BIG_ROUTE } } });
  for (const { why, body } of LEGITIMATE) {
    const sent = JSON.stringify({ model: "big", max_tokens: 9, ...body() as object });
    const reply = await gateway.post("/v1/chat/completions", sent);
    const text = await reply.text();
    assertEquals(reply.status, 200, `${why}: ${text.slice(0, 300)}`);
  }
});
