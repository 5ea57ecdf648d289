import { startChild } from "../fake/child_gateway.ts";
import { chunk, completion, eventStream, rawServer, readRequest, sse } from "../fake/upstream.ts";
const enc = new TextEncoder();
const w = async (c: Deno.TcpConn, s: string) => {
  let b = enc.encode(s);
  while (b.length) b = b.subarray(await c.write(b));
};
const kinds: Record<string, (c: Deno.TcpConn) => Promise<void>> = {
  "reset after request": async (c) => {
    await readRequest(c);
  },
  "json cut mid-body": async (c) => {
    await readRequest(c);
    await w(
      c,
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":"x",',
    );
  },
  "stall mid-body": async (c) => {
    await readRequest(c);
    await w(
      c,
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"id":"x",',
    );
    await new Promise((r) => setTimeout(r, 30000));
  },
  "garbage": async (c) => {
    await readRequest(c);
    await w(c, "\x16\x03\x01\x02\x00\x01garbage\r\n\r\n");
  },
  "200 html": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 14\r\n\r\n<html></html>\n",
    );
  },
  "200 error json": async (c) => {
    await readRequest(c);
    const b = '{"error":{"message":"boom","type":"server_error"}}';
    await w(
      c,
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${b.length}\r\n\r\n${b}`,
    );
  },
  "200 empty object": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
  },
  "302": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 302 Found\r\nlocation: http://x/\r\ncontent-length: 0\r\n\r\n");
  },
  "204": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 204 No Content\r\n\r\n");
  },
  "404 html": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 404 NF\r\ncontent-type: text/html\r\ncontent-length: 14\r\n\r\n<html></html>\n",
    );
  },
  "gzip garbage": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nabcd",
    );
  },
  "zstd": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: zstd\r\ncontent-length: 4\r\n\r\nabcd",
    );
  },
  "two lengths": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\ncontent-length: 9\r\n\r\nabcd",
    );
  },
  "101": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
  },
  "half sse then close": async (c) => {
    await readRequest(c);
    await w(
      c,
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {"id":"x"',
    );
  },
  "pings only": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    for (let i = 0; i < 60; i++) {
      await w(c, ": ping\n\n");
      await new Promise((r) => setTimeout(r, 300));
    }
  },
  "first event only then stall": async (c) => {
    await readRequest(c);
    await w(
      c,
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" +
        sse(chunk({ role: "assistant" })),
    );
    await new Promise((r) => setTimeout(r, 15000));
  },
  "1xx then nothing": async (c) => {
    await readRequest(c);
    await w(c, "HTTP/1.1 100 Continue\r\n\r\n");
    await new Promise((r) => setTimeout(r, 15000));
  },
  "stops taking the body": async (_c) => {
    await new Promise((r) => setTimeout(r, 15000));
  },
  "closes at once": async (_c) => {},
};
const only = Deno.args;
for (const [why, talk] of Object.entries(kinds)) {
  if (only.length && !only.some((o) => why.includes(o))) continue;
  for (const stream of [false, true]) {
    let asked = 0;
    await using bad = rawServer(async (c) => {
      asked++;
      await talk(c);
    });
    await using good = rawServer(async (c) => {
      while (true) {
        const r = await readRequest(c);
        if (r === undefined) return;
        const rep = stream
          ? eventStream(
            sse(
              chunk({ role: "assistant", content: "hi" }),
              chunk({}, "stop", {
                usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
              }),
              "[DONE]",
            ),
          )
          : completion("hi");
        const t = await rep.text();
        await w(
          c,
          `HTTP/1.1 200 OK\r\ncontent-type: ${
            stream ? "text/event-stream" : "application/json"
          }\r\ncontent-length: ${enc.encode(t).length}\r\n\r\n${t}`,
        );
      }
    });
    await using gw = await startChild({
      settings: {
        upstreams: {
          a: { url: bad.url, timeouts: { headersMs: 1000, streamMs: 20000, readMs: 20000 } },
          b: { url: good.url },
        },
        routes: {
          r: {
            targets: [{ upstream: "a", model: "x" }, { upstream: "b", model: "x" }],
            context: 9000,
            maxOutput: 100,
            minimum: 1,
            prices: { input: 1, cached: 1, output: 1 },
          },
        },
      },
    });
    const statuses: Record<string, number> = {};
    let worst = 0, n = 0, first = "";
    const until = performance.now() + 7000;
    while (performance.now() < until) {
      const t = performance.now();
      let k: string;
      try {
        const r = await gw.post(
          "/v1/chat/completions",
          JSON.stringify({ model: "r", stream, messages: [{ role: "user", content: "hi" }] }),
          { withinMs: 9000 },
        );
        const x = await r.text();
        k = String(r.status) + (stream && r.status === 200 && !x.includes("[DONE]") ? "-cut" : "");
        if (k !== "200" && !first) first = x.slice(0, 120);
      } catch (e) {
        k = String(e).slice(0, 40);
      }
      statuses[k] = (statuses[k] ?? 0) + 1;
      n++;
      worst = Math.max(worst, performance.now() - t);
      await new Promise((r) => setTimeout(r, 60));
    }
    console.log(
      why.padEnd(28),
      stream ? "stream" : "whole ",
      JSON.stringify(statuses),
      `asked ${asked}`,
      `worst ${worst.toFixed(0)}ms`,
      gw.alive() ? "" : "DEAD",
      gw.errors().slice(0, 1).join(),
      first,
    );
  }
}
Deno.exit(0);
