/** Scratch: worst event-loop delay while one body is posted. */
import { startChild } from "../fake/child_gateway.ts";
import { completion, fakeUpstream, rawServer, readRequest } from "../fake/upstream.ts";

const OK = () => completion("ok");
const upstream = fakeUpstream(OK);
const gw = await startChild({
  settings: {
    limits: { unbilledBytesPerMinute: 1e13 },
    upstreams: { c: { url: upstream.url }, m: { url: upstream.url, dialect: "messages" } },
    routes: {
      chat: {
        targets: [{ upstream: "c", model: "x" }],
        context: 2_000_000,
        maxOutput: 1000,
        minimum: 1,
        prices: { input: 1, cached: 1, output: 1 },
        images: "remote",
      },
      msg: {
        targets: [{ upstream: "m", model: "x" }],
        context: 2_000_000,
        maxOutput: 1000,
        minimum: 1,
        prices: { input: 1, cached: 1, output: 1 },
        images: "remote",
      },
    },
  },
});
const worker = new Worker(
  "data:application/javascript," + encodeURIComponent(`
let run = false, worst = 0, url;
async function loop(){ while(true){ const t=performance.now(); try { await (await fetch(url+"/healthz")).text(); } catch {} const d=performance.now()-t; if(run&&d>worst) worst=d; await new Promise(r=>setTimeout(r,1)); } }
self.onmessage=({data})=>{ if(data.url){url=data.url;loop();} else if(data==="start"){worst=0;run=true;} else {run=false; self.postMessage(worst);} };
`),
  { type: "module" },
);
worker.postMessage({ url: gw.url });
await new Promise((r) => setTimeout(r, 500));
const measured = (f: () => Promise<unknown>) =>
  new Promise<[number, unknown, number]>((resolve) => {
    worker.postMessage("start");
    const t = performance.now();
    f().then((v) =>
      setTimeout(() => {
        worker.onmessage = ({ data }) => resolve([data, v, took]);
        worker.postMessage("stop");
      }, 20), (e) => {
      throw e;
    });
    let took = 0;
    f;
    const orig = f;
    void orig;
    void t;
    took = 0;
  });
const rep = (s: string, n: number) => new Array(n).fill(s).join(",");
const chat = (messages: string, more = "", model = "chat") =>
  `{"model":"${model}"${more},"messages":${messages}}`;
const U = `[{"role":"user","content":"hi"}]`;
const big = "1234567890123456789";
const kinds: Record<string, () => [string, string]> = {
  baseline: () => ["/v1/chat/completions", chat(U)],
  "66k msgs":
    () => ["/v1/chat/completions", chat(`[${rep('{"role":"user","content":"a"}', 60000)}]`)],
  "66k msgs → messages upstream": () => [
    "/v1/chat/completions",
    chat(`[${rep('{"role":"user","content":"a"}', 60000)}]`, "", "msg"),
  ],
  "66k msgs over messages→chat": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[${rep('{"role":"user","content":"a"}', 60000)}]}`,
  ],
  "66k parts": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":[${rep('{"type":"text","text":"a"}', 60000)}]}]`),
  ],
  "66k parts → messages": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":[${rep('{"type":"text","text":"a"}', 60000)}]}]`, "", "msg"),
  ],
  "reviver nested": () => [
    "/v1/chat/completions",
    chat(U, `,"x":[${big},${rep("[".repeat(90) + "1" + "]".repeat(90), 2100)}]`),
  ],
  "reviver nested keys": () => [
    "/v1/chat/completions",
    chat(U, `,"x":[${big},${rep('{"a":'.repeat(90) + "1" + "}".repeat(90), 2100)}]`),
  ],
  "reviver many bigs": () => ["/v1/chat/completions", chat(U, `,"x":[${rep(big, 19990)}]`)],
  "199k values unknown": () => ["/v1/chat/completions", chat(U, `,"x":[${rep("[1]", 99000)}]`)],
  "199k values unknown → messages":
    () => ["/v1/chat/completions", chat(U, `,"x":[${rep("[1]", 99000)}]`, "msg")],
  "tool schema 199k": () => [
    "/v1/chat/completions",
    chat(
      U,
      `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","x":[${
        rep("[1]", 95000)
      }]}}}]`,
    ),
  ],
  "tool schema 199k→messages": () => [
    "/v1/chat/completions",
    chat(
      U,
      `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","x":[${
        rep("[1]", 95000)
      }]}}}]`,
      "msg",
    ),
  ],
  "30k tools": () => [
    "/v1/chat/completions",
    chat(
      U,
      `,"tools":[${rep('{"type":"function","function":{"name":"f","parameters":{}}}', 35000)}]`,
    ),
  ],
  "30k tools→msg": () => [
    "/v1/chat/completions",
    chat(
      U,
      `,"tools":[${rep('{"type":"function","function":{"name":"f","parameters":{}}}', 35000)}]`,
      "msg",
    ),
  ],
  "30k tools msg→chat": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":${U},"tools":[${
      rep('{"name":"f","input_schema":{"type":"object"}}', 35000)
    }]}`,
  ],
  "tool calls 18k": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[${
        rep('{"id":"é x","type":"function","function":{"name":"f","arguments":"{}"}}', 30000)
      }]}]`,
    ),
  ],
  "tool calls 18k→msg": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[${
        Array.from({ length: 28000 }, (_, i) =>
          `{"id":"é ${i}","type":"function","function":{"name":"f","arguments":"{}"}}`).join(",")
      }]}]`,
      "",
      "msg",
    ),
  ],
  "tool use+results msg→chat": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${
      Array.from(
        { length: 17000 },
        (_, i) => `{"type":"tool_use","id":"t${i}","name":"f","input":{}}`,
      ).join(",")
    }]},{"role":"user","content":[${
      Array.from(
        { length: 17000 },
        (_, i) => `{"type":"tool_result","tool_use_id":"t${16999 - i}","content":"x"}`,
      ).join(",")
    }]}]}`,
  ],
  "tool msgs chat→msg": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":"a"},${
        Array.from(
          { length: 14000 },
          (_, i) =>
            `{"role":"assistant","tool_calls":[{"id":"t${i}","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t${i}","content":"x"}`,
        ).join(",")
      }]`,
      "",
      "msg",
    ),
  ],
  "1MB text":
    () => ["/v1/chat/completions", chat(`[{"role":"user","content":"${"a ".repeat(500000)}"}]`)],
  "8MB text": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":"${"a B1.".repeat(1600000)}"}]`),
  ],
  "30MB text": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":"${"a B1.".repeat(6000000)}"}]`),
  ],
  "30MB text escapes": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":"${"\\u00e9\\n".repeat(3700000)}"}]`),
  ],
  "60MB text count": () => [
    "/v1/messages/count_tokens",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"${
      "a B1.".repeat(12000000)
    }"}]}`,
  ],
  "60MB unknown field": () => ["/v1/chat/completions", chat(U, `,"x":"${"\\n".repeat(30000000)}"`)],
  "60MB unknown unicode":
    () => ["/v1/chat/completions", chat(U, `,"x":"${"漢".repeat(20000000)}"`)],
  "60MB base64 not image": () => [
    "/v1/chat/completions",
    chat(`[{"role":"user","content":"${"abcd".repeat(15000000)}"}]`),
  ],
  "model name 30MB": () => ["/v1/chat/completions", chat(U, "", "z".repeat(30000000))],
  "model 30MB -": () => ["/v1/chat/completions", chat(U, "", "-".repeat(900000))],
  "10k keys": () => [
    "/v1/chat/completions",
    chat(U, "," + Array.from({ length: 9990 }, (_, i) => `"k${i}":1`).join(",")),
  ],
  "10k keys→msg": () => [
    "/v1/chat/completions",
    chat(U, "," + Array.from({ length: 9990 }, (_, i) => `"k${i}":1`).join(","), "msg"),
  ],
  "10k long keys→msg": () => [
    "/v1/chat/completions",
    chat(
      U,
      "," + Array.from({ length: 9990 }, (_, i) => `"k${i}${"é".repeat(2000)}":1`).join(","),
      "msg",
    ),
  ],
  "int keys": () => [
    "/v1/chat/completions",
    chat(
      U,
      `,"x":{` + Array.from({ length: 9990 }, (_, i) => `"${4294967294 - i * 7919}":1`).join(",") +
        "}",
    ),
  ],
  "numbers long": () => ["/v1/chat/completions", chat(U, `,"x":${"9".repeat(900000)}`)],
  "number long 30MB": () => ["/v1/chat/completions", chat(U, `,"x":${"9".repeat(30000000)}`)],
  "numbers long float": () => ["/v1/chat/completions", chat(U, `,"x":0.${"9".repeat(900000)}`)],
  "many long floats": () => [
    "/v1/chat/completions",
    chat(U, `,"x":[${rep("0." + "9".repeat(700) + "e-300", 40000)}]`),
  ],
  "data url odd": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:${
        ";a=b".repeat(240000)
      },x"}}]}]`,
    ),
  ],
  "data url spaces": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"${
        " ".repeat(960000)
      }data:image/png;base64,x"}}]}]`,
    ),
  ],
  "file data": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"data:${
        " ".repeat(900000)
      }x"}}]}]`,
    ),
  ],
  "50k files": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[${
        rep('{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}', 20000)
      }]}]`,
    ),
  ],
  "messages docs": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":[${
      rep(
        '{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}',
        30000,
      )
    }]}]}`,
  ],
  "thinking blocks": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${
      rep('{"type":"thinking","thinking":"x","signature":"y"}', 45000)
    }]},{"role":"user","content":"b"}]}`,
  ],
  "alternating msgs": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[${
      rep(
        '{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]}',
        18000,
      )
    },{"role":"user","content":"x"}]}`,
  ],
  "system blocks": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"system":[${
      rep('{"type":"text","text":"a"}', 60000)
    }],"messages":${U}}`,
  ],
  "stop_sequences long": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"stop_sequences":["${"a".repeat(5000000)}"],"messages":${U}}`,
  ],
  "Z file spaces 4MB": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"${
        " ".repeat(4000000)
      }x"}}]}]`,
    ),
  ],
  "Z file spaces 20MB": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"${
        " ".repeat(20000000)
      }x"}}]}]`,
    ),
  ],
  "Z doc spaces count 8MB": () => [
    "/v1/messages/count_tokens",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${
      "\\n".repeat(4000000)
    }x"}}]}]}`,
  ],
  "Z 100 images junk head": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[${
        rep(
          '{"type":"image_url","image_url":{"url":"data:image/png;base64,' + " ".repeat(65536) +
            '"}}',
          100,
        )
      }]}]`,
    ),
  ],
  "Z 900 images junk head": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[${
        rep(
          '{"type":"image_url","image_url":{"url":"data:image/png;base64,' + "é".repeat(32000) +
            '"}}',
          900,
        )
      }]}]`,
    ),
  ],
  "Z 14k small images": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[${
        rep('{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}', 24000)
      }]}]`,
    ),
  ],
  "Z 500k tool ids again": () => [
    "/v1/messages",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${
      rep('{"type":"tool_use","id":"a_again1","name":"f","input":{}}', 19000)
    }]}]}`,
  ],
  "Z pdf pages": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"${
        btoa("%PDF-" + "/Type                /Page ".repeat(600000))
      }"}}]}]`,
    ),
  ],
  "Y file colon 4MB": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"${
        ":".repeat(4000000)
      }x"}}]}]`,
    ),
  ],
  "Y file colon 20MB": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"file","file":{"file_data":"${
        ":".repeat(20000000)
      }x"}}]}]`,
    ),
  ],
  "Y doc colon count 4MB": () => [
    "/v1/messages/count_tokens",
    `{"model":"chat","max_tokens":5,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${
      ":".repeat(4000000)
    }x"}}]}]}`,
  ],
  "Y inline image junk 7.9MB": () => [
    "/v1/chat/completions",
    chat(
      `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${
        ":".repeat(7900000)
      }"}}]}]`,
    ),
  ],
  "Y inline image junk é 4MB": () => [
    "/v1/messages",
    `{"model":"msg","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${
      "é".repeat(4000000)
    }"}}]}]}`,
  ],
};
const only = Deno.args.filter((a) => !a.startsWith("-"));
for (const [why, make] of Object.entries(kinds)) {
  if (only.length && !only.some((o) => why.includes(o))) continue;
  const [path, body] = make();
  const out: string[] = [];
  for (let i = 0; i < 3; i++) {
    const bytes = new TextEncoder().encode(body);
    const t = performance.now();
    let ms = 0;
    const [worst, said] = await measured(async () => {
      try {
        const r = await gw.post(path, bytes, { withinMs: 60000 });
        const text = await r.text();
        ms = performance.now() - t;
        return `${r.status} ${r.status === 200 ? "" : text.slice(0, 110)}`;
      } catch (e) {
        ms = performance.now() - t;
        return String(e).slice(0, 100);
      }
    });
    out.push(`${worst.toFixed(0)}/${ms.toFixed(0)}ms`);
    if (i === 2) out.push(String(said));
    if (!gw.alive()) {
      out.push("DEAD");
      break;
    }
  }
  console.log(why.padEnd(32), `${(body.length / 1e6).toFixed(2)}MB`, out.join("  "));
  if (!gw.alive()) break;
}
console.log("peak", (await gw.peakBytes()) >> 20, "errors", gw.errors().slice(0, 3));
worker.terminate();
await gw[Symbol.asyncDispose]();
Deno.exit(0);
