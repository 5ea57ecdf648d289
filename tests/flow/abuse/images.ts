import { until } from "../../fake/temp.ts";
import { rawServer, readRequest } from "../../fake/upstream.ts";
import {
  type Bench,
  chatBody,
  type ClientSees,
  close,
  error,
  free,
  NOT_RECORDED,
  type Row,
} from "./row.ts";

const PNG = await Deno.readFile(new URL("../../requests/images/files/rgb.png", import.meta.url));
const REJECTED = error(400, "invalid_request");
const LINES = ["info image refused", "info request", "info request refused"] as const;

/** A request with images at these addresses. */
function ask(...urls: string[]): Record<string, unknown> {
  const content = urls.map((url) => ({ type: "image_url", image_url: { url } }));
  return chatBody({ model: "svc-k2.6", messages: [{ role: "user", content }] });
}

/** Starts a host that replies with these bytes; never, if there are none. */
function host(bench: Bench, bytes: Uint8Array | undefined) {
  const one = { waiting: 0, url: "" };
  const server = rawServer(async (connection) => {
    await readRequest(connection);
    one.waiting++;
    if (bytes === undefined) {
      await connection.read(new Uint8Array(1)).catch(() => null);
      one.waiting--;
      return;
    }
    const head = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n" +
      `content-length: ${bytes.length}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    await connection.write(bytes);
  });
  bench.defer(() => server[Symbol.asyncDispose]());
  one.url = new URL("/picture.png", server.url).href;
  return one;
}

const LOCAL = { allowPrivateHosts: ["127.0.0.1"] };

async function asked(bench: Bench, bytes: Uint8Array | undefined): Promise<ClientSees> {
  return await bench.post("/v1/chat/completions", ask(host(bench, bytes).url));
}

export const IMAGES: readonly Row[] = [
  {
    name: "an image at a private address",
    sent: "an image at a loopback, private or link-local address",
    clientSees: REJECTED,
    charged: free("refused"),
    logged: LINES,
    run: ({ post }) => post("/v1/chat/completions", ask("http://169.254.169.254/latest/meta-data")),
  },
  {
    name: "too many images",
    sent: "more images than `images.maxImages`",
    clientSees: REJECTED,
    charged: NOT_RECORDED,
    logged: ["info request refused"],
    settings: { images: { maxImages: 3 } },
    run: ({ post }) =>
      post("/v1/chat/completions", ask(...Array(4).fill("http://images.example/a.png"))),
  },
  {
    name: "an image that is not one",
    sent: "an address with something other than an image of a known kind",
    clientSees: REJECTED,
    charged: free("refused"),
    logged: LINES,
    settings: { images: LOCAL },
    run: (bench) => asked(bench, new TextEncoder().encode("<html></html>")),
  },
  {
    name: "an image that is too large",
    sent: "an image of more than `images.maxBytes`",
    clientSees: REJECTED,
    charged: free("refused"),
    logged: LINES,
    settings: { images: { ...LOCAL, maxBytes: 100 } },
    run: (bench) => asked(bench, PNG),
  },
  {
    name: "images that are too large together",
    sent: "more base64 in one request than `images.maxEncodedChars`",
    clientSees: error(400, "encoded_image_too_large"),
    charged: NOT_RECORDED,
    logged: ["info request refused"],
    settings: { images: { maxEncodedChars: 100 } },
    run: ({ post }) =>
      post(
        "/v1/chat/completions",
        ask(`data:image/png;base64,${btoa(String.fromCharCode(...PNG))}`),
      ),
  },
  {
    name: "an image that is too slow",
    sent: "an image that is not complete after `images.totalMs`",
    clientSees: REJECTED,
    charged: free("refused"),
    logged: LINES,
    settings: { images: { ...LOCAL, totalMs: 300 } },
    run: (bench) => asked(bench, undefined),
  },
  {
    name: "no turn to download",
    sent: "an image that waits longer than `images.waitMs` for one of `images.fetches`",
    clientSees: error(503, "service_unavailable"),
    charged: free("refused"),
    logged: LINES,
    settings: { images: { ...LOCAL, fetches: 1, waitMs: 200 } },
    async run(bench) {
      const slow = host(bench, undefined);
      const other = await bench.another();
      const connection = await bench.open(JSON.stringify(ask(slow.url)), other.keys[0]);
      bench.defer(() => close(connection));
      await until(() => slow.waiting === 1, { what: "the download" });
      return await asked(bench, PNG);
    },
  },
  {
    name: "a disconnect while an image is downloaded",
    sent: "a request with a slow image, then a disconnect",
    clientSees: "disconnected",
    charged: free("client_left"),
    logged: LINES,
    settings: { images: LOCAL },
    async run(bench) {
      const slow = host(bench, undefined);
      const connection = await bench.open(JSON.stringify(ask(slow.url)));
      await until(() => slow.waiting === 1, { what: "the download" });
      close(connection);
      await until(() => slow.waiting === 0, { what: "the end of the download" });
      return "disconnected";
    },
  },
];
