import type { Random } from "../fake/random.ts";
import { answerText, type Directive, writeDirective } from "./directive.ts";
import type { Asked } from "./exchange.ts";
import { anyFault } from "./faults.ts";
import { chunkedUpload, HOSTILE_BODIES, HOSTILE_UPLOADS, hostileBytes } from "./hostile.ts";
import type { Dialect } from "./upstreams.ts";
import { GOOD_ROUTES, LONELY_ROUTE, SHAKY_ROUTES, type World } from "./world.ts";

/** One kind of caller. */
export interface Kind {
  readonly name: string;
  /** What `--without` calls it. */
  readonly group: string;
  /** How often it comes, against the others. */
  readonly weight: number;
  /** What it sends: mostly one request, some send several at once. */
  make(random: Random, world: World): readonly Asked[];
}

let made = 0;

interface Ordinary {
  readonly dialect?: Dialect;
  readonly stream?: boolean;
  readonly route?: string;
  readonly key?: string;
  readonly words?: number;
  readonly images?: readonly string[];
  readonly directive?: Partial<Directive>;
  /** Characters of the prompt besides the directive. */
  readonly prompt?: number;
  readonly fields?: Record<string, unknown>;
}

/** A correct request; what is left open is drawn. */
function ordinary(random: Random, world: World, options: Ordinary = {}): Asked {
  const dialect = options.dialect ?? random.pick(["chat", "messages"] as const);
  const stream = options.stream ?? random.next() < 0.6;
  const directive = {
    tag: `t${++made}`,
    words: options.words ?? random.integer(3, 60),
    pauseMs: random.next() < 0.3 ? random.integer(1, 10) : 0,
    delayMs: random.next() < 0.3 ? random.integer(1, 100) : 0,
    fault: "none",
    ...options.directive,
  };
  const text = `${"word ".repeat((options.prompt ?? random.integer(0, 500)) / 5)}${
    writeDirective(directive)
  }`;
  const images = (options.images ?? []).map((url) => imagePart(dialect, url));
  const body = {
    model: options.route ?? random.pick(GOOD_ROUTES),
    max_tokens: Math.min(directive.words * 20, 100_000),
    stream,
    messages: [{
      role: "user",
      content: images.length === 0 ? text : [{ type: "text", text }, ...images],
    }],
    ...options.fields,
  };
  return {
    dialect,
    path: dialect === "chat" ? "/v1/chat/completions" : "/v1/messages",
    key: options.key ?? random.pick(world.keys.rich),
    body: JSON.stringify(body),
    statuses: world.kills ? [200, 503] : [200],
    mayBreak: world.kills,
    text: answerText(directive),
  };
}

/** An image of an address, or of base64 that begins with `base64,`. */
function imagePart(dialect: Dialect, url: string): unknown {
  const data = url.startsWith("base64,") ? url.slice(7) : undefined;
  if (dialect === "chat") {
    return {
      type: "image_url",
      image_url: { url: data === undefined ? url : `data:image/png;base64,${data}` },
    };
  }
  return {
    type: "image",
    source: data === undefined
      ? { type: "url", url }
      : { type: "base64", media_type: "image/png", data },
  };
}

const plain = (name: string, weight: number, options: Ordinary): Kind => ({
  name,
  group: "plain",
  weight,
  make: (random, world) => [ordinary(random, world, options)],
});

/** Every kind of caller; the table of the report has them in this order. */
export const KINDS: readonly Kind[] = [
  plain("chat", 10, { dialect: "chat", stream: false }),
  plain("chat stream", 12, { dialect: "chat", stream: true }),
  plain("messages", 8, { dialect: "messages", stream: false }),
  plain("messages stream", 12, { dialect: "messages", stream: true }),
  plain("long prompt", 2, { prompt: 200_000 }),
  {
    name: "little credit",
    group: "refused",
    weight: 4,
    make: (random, { keys, ...world }) => [{
      ...ordinary(random, { keys, ...world }, {
        key: random.pick([keys.poor, keys.budgeted]),
        words: random.integer(100, 2_000),
      }),
      statuses: [200, 403, 429, 503],
    }],
  },
  {
    name: "refused",
    group: "refused",
    weight: 3,
    make(random, world) {
      const asked = ordinary(random, world, { route: "no-such-route" });
      return [random.pick<Asked>([
        { ...asked, statuses: [404] },
        { ...asked, statuses: [401], key: `sk-${"0".repeat(40)}` },
        { ...asked, statuses: [400], body: "{" },
        { ...asked, statuses: [400], body: "" },
        { ...asked, statuses: [404], path: `${asked.path}/none` },
      ])];
    },
  },
  {
    name: "inline images",
    group: "images",
    weight: 3,
    make: (random, world) => [ordinary(random, world, {
      images: Array.from({ length: random.integer(1, 4) }, () => `base64,${world.smallImage}`),
    })],
  },
  {
    name: "large inline images",
    group: "images",
    weight: 2,
    make: (random, world) => [ordinary(random, world, {
      images: Array.from({ length: random.integer(1, 4) }, () => `base64,${world.largeImage}`),
    })],
  },
  {
    name: "remote images",
    group: "images",
    weight: 3,
    make: (random, world) => [remote(random, world, ["small", "small", "large", "slow/300"], 3)],
  },
  {
    name: "remote images, bad",
    group: "images",
    weight: 1,
    make: (random, world) => [{
      ...remote(random, world, ["stalls", "none", "circle", "text"], 2),
      statuses: [400, 503],
    }],
  },
  {
    name: "leaves before headers",
    group: "leavers",
    weight: 3,
    make: (random, world) => [{
      ...ordinary(random, world, { directive: { delayMs: random.integer(200, 1_000) } }),
      leave: { afterMs: random.integer(0, 300) },
    }],
  },
  {
    name: "leaves mid-stream",
    group: "leavers",
    weight: 4,
    make: (random, world) => [{
      ...ordinary(random, world, {
        stream: true,
        words: random.integer(50, 500),
        directive: { pauseMs: random.integer(0, 5) },
      }),
      leave: { afterBytes: random.integer(1, 5_000) },
    }],
  },
  {
    name: "leaves while uploading",
    group: "leavers",
    weight: 2,
    make(random, world) {
      const asked = ordinary(random, world, { prompt: random.integer(1_000, 1_500_000) });
      const length = `content-length: ${asked.body.length}`;
      const framing = [random.pick([length, length, "transfer-encoding: chunked"])];
      const sent = asked.body.slice(0, random.integer(0, asked.body.length));
      const pieces = framing[0] === length ? [sent] : [`fffff\r\n${sent}`];
      const upload = { framing, pieces, pauseMs: random.integer(0, 50), belowHttp: true };
      return [{ ...asked, upload: { ...upload, then: "leaves" } }];
    },
  },
  {
    name: "leaves its images",
    group: "leavers",
    weight: 2,
    make: (random, world) => [{
      ...remote(random, world, ["slow/500", "slow/1500", "stalls"], 4),
      statuses: [200, 400, 503],
      leave: { afterMs: random.integer(0, 1_500) },
    }],
  },
  {
    name: "leaves an image queue",
    group: "leavers",
    weight: 0.7,
    make(random, world) {
      // more pictures than are fetched at once, and some who leave while theirs wait for a turn
      const stay = () => remote(random, world, ["slow/800", "slow/1200"], 4);
      const leave = (): Asked => ({
        ...remote(random, world, ["small", "slow/300"], 1),
        waitMs: random.integer(50, 200),
        leave: { afterMs: random.integer(20, 400) },
      });
      return [stay(), stay(), leave(), leave(), leave()];
    },
  },
  {
    name: "slow reader",
    group: "slow",
    weight: 2,
    make: (random, world) => [{
      ...ordinary(random, world, { stream: true, words: 300 }),
      readPauseMs: random.integer(5, 100),
    }],
  },
  {
    name: "slow reader of much",
    group: "slow",
    weight: 0.3,
    make: (random, world) => [{
      ...ordinary(random, world, { stream: true, words: 8_000, directive: { pauseMs: 0 } }),
      readPauseMs: random.integer(1, 20),
    }],
  },
  {
    name: "chunked upload",
    group: "chunked",
    weight: 2,
    make(random, world) {
      const asked = ordinary(random, world);
      return [{ ...asked, upload: chunkedUpload(asked.body, random) }];
    },
  },
  {
    name: "hostile body",
    group: "hostile",
    weight: 4,
    make(random, world) {
      const name = random.pick(Object.keys(HOSTILE_BODIES));
      const asked = ordinary(random, world, { route: random.pick(GOOD_ROUTES), stream: false });
      const path = asked.dialect === "messages" && random.next() < 0.3
        ? `${asked.path}/count_tokens`
        : asked.path;
      const start = `{"model":"soak-chat","max_tokens":20,`;
      const body = `${start}${HOSTILE_BODIES[name]!(hostileBytes(random))}}`;
      const { text: _, ...rest } = asked;
      return [{ ...rest, path, body, statuses: [200, 400, 429, 503] }];
    },
  },
  {
    name: "hostile upload",
    group: "hostile",
    weight: 2,
    make(random, world) {
      const upload = HOSTILE_UPLOADS[random.pick(Object.keys(HOSTILE_UPLOADS))]!;
      const asked = ordinary(random, world, { stream: false });
      return [{ ...asked, upload: upload(asked.body), statuses: [200, 400, 503] }];
    },
  },
  {
    name: "count_tokens, 24 at once",
    group: "counts",
    weight: 0.7,
    make: (random, world) =>
      Array.from({ length: 24 }, () => {
        const asked = ordinary(random, world, { dialect: "messages" });
        return { ...asked, path: `${asked.path}/count_tokens`, statuses: [200, 429] };
      }),
  },
  {
    name: "first target misbehaves",
    group: "faults",
    weight: 8,
    make: (random, world) => [misled(random, world, random.pick(SHAKY_ROUTES))],
  },
  {
    name: "only target misbehaves",
    group: "faults",
    weight: 3,
    make: (random, world) => [misled(random, world, LONELY_ROUTE)],
  },
];

/** A request with remote images. */
function remote(random: Random, world: World, paths: readonly string[], most: number): Asked {
  const images = Array.from(
    { length: random.integer(1, most) },
    () => `${world.imageBase}/${random.pick(paths)}?${random.integer(0, 1e9)}`,
  );
  const asked = ordinary(random, world, { images });
  // where many wait for their turn, a picture may be too late
  return { ...asked, statuses: [200, 400, 503] };
}

/** A request to a route that has an upstream which misbehaves. */
function misled(random: Random, world: World, route: string): Asked {
  const fault = random.next() < 0.2 ? "none" : anyFault(random);
  const asked = ordinary(random, world, { route, directive: { fault } });
  return {
    ...asked,
    statuses: fault === "none" ? [200, 503] : [200, 400, 429, 503],
    mayBreak: true,
  };
}
