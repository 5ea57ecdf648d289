import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { freePort } from "../fake/free_port.ts";
import { handshake, run } from "../fake/reverse_proxy.ts";
import { chunk, completion, fakeUpstream, sse } from "../fake/upstream.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";

const NGINX = "/usr/sbin/nginx";
const installed = await Deno.stat(NGINX).then(() => true, () => false);

/** nginx with `deploy/nginx.conf`, in front of a gateway; only addresses and certificates are the test's. */
async function startNginx(directory: string, gateway: string) {
  const [http, https] = [freePort(), freePort()];
  const certificate = await run(
    "openssl",
    ..."req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=llm.example.com -keyout".split(" "),
    `${directory}/key.pem`,
    "-out",
    `${directory}/cert.pem`,
  );
  assertEquals(certificate.code, 0, certificate.err);
  const site = (await Deno.readTextFile(new URL("../../deploy/nginx.conf", import.meta.url)))
    .replace("127.0.0.1:8787", new URL(gateway).host)
    .replace("listen 80;", `listen 127.0.0.1:${http};`)
    .replace("listen 443 ssl", `listen 127.0.0.1:${https} ssl`)
    .replace(/\/etc\/letsencrypt\S*\/fullchain\.pem/, `${directory}/cert.pem`)
    .replace(/\/etc\/letsencrypt\S*\/privkey\.pem/, `${directory}/key.pem`);
  await Deno.writeTextFile(`${directory}/sluice.conf`, site);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${directory}/${kind};`).join("\n");
  const config = `${directory}/nginx.conf`;
  await Deno.writeTextFile(
    config,
    `daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr;
     events {} http { access_log off; ${temporary} include ${directory}/sluice.conf; }`,
  );
  const checked = await run(NGINX, "-t", "-q", "-e", "stderr", "-c", config);
  assertEquals([checked.code, checked.err], [0, ""]);
  const process = new Deno.Command(NGINX, {
    args: ["-e", "stderr", "-c", config],
    stderr: "null",
  }).spawn();
  const url = `https://127.0.0.1:${https}`;
  const isServed = async () => (await run("curl", "-sk", `${url}/healthz`)).code === 0;
  await until(isServed, { what: "nginx" });
  return {
    url,
    plain: `http://127.0.0.1:${http}`,
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

Deno.test({
  name:
    "deploy/nginx.conf streams, passes large bodies and disconnects on, and hides what is internal",
  ignore: !installed,
  async fn() {
    await using dir = await tempDir();
    let pieces = new TransformStream<Uint8Array, Uint8Array>();
    await using upstream = fakeUpstream(({ body }) =>
      body.stream === true
        ? new Response(pieces.readable, { headers: { "content-type": "text/event-stream" } })
        : completion(`You said: "${body.messages.at(-1).content}"`)
    );
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url },
        trustedProxies: ["127.0.0.1"],
        publicUrl: "https://llm.example.com",
        onClientDisconnect: "abort",
      },
    });
    await using nginx = await startNginx(dir.path, gateway.url);
    const ask = (prompt: string, stream: boolean) => [
      "-skN",
      `${nginx.url}/v1/chat/completions`,
      "-H",
      `Authorization: Bearer ${gateway.key}`,
      "-d",
      JSON.stringify({ model: "svc-k2", stream, messages: [{ role: "user", content: prompt }] }),
    ];

    const whole = await run("curl", ...ask("Hello", false));
    assertStringIncludes(whole.out, 'You said: \\"Hello\\"');

    // each event comes by itself: the next one is sent once it has arrived
    const stream = new Deno.Command("curl", { args: ask("Hi", true), stdout: "piped" }).spawn();
    const written = pieces.writable.getWriter();
    const send = (text: string) => written.write(new TextEncoder().encode(text));
    let text = "";
    const reading = (async () => {
      for await (const chunk of stream.stdout.pipeThrough(new TextDecoderStream())) text += chunk;
    })();
    for (const word of ["one", "two", "three", "four"]) {
      await send(sse(chunk({ content: word })));
      await until(() => text.includes(word), { what: `"${word}" through nginx` });
    }
    await send(sse(chunk({}, "stop"), "[DONE]"));
    await written.close();
    await Promise.all([reading, stream.status]);
    assertStringIncludes(text, "data: [DONE]");

    const upgraded = await handshake(`${nginx.url}/v1/responses`, gateway.key);
    assertStringIncludes(upgraded, " 101 ");

    // a client that disconnects
    pieces = new TransformStream();
    const left = new Deno.Command("curl", { args: ask("Hi", true), stdout: "piped" }).spawn();
    const endless = pieces.writable.getWriter();
    const reader = left.stdout.getReader();
    const first = reader.read();
    await endless.write(new TextEncoder().encode(sse(chunk({ content: "well" }))));
    await first;
    assertEquals(gateway.gateway.inFlight.count, 1);
    await reader.cancel();
    left.kill("SIGKILL");
    await left.status;
    await until(() => gateway.gateway.inFlight.count === 0, { what: "the disconnect" });
    await endless.close().catch(() => {}); // the upstream's connection is closed

    // too large for Sluice, which says so in words that clients understand
    await Deno.writeFile(`${dir.path}/large`, new Uint8Array(65 * 1_048_576));
    const large = await run(
      "curl",
      ...ask("", false).slice(0, 4),
      "-H",
      "Expect:",
      "--data-binary",
      `@${dir.path}/large`,
    );
    assertStringIncludes(large.out, "Request body too large: the limit is 64 MiB");

    for (const path of ["/metrics", "/readyz"]) {
      const { out } = await run(
        "curl",
        "-sk",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        nginx.url + path,
      );
      assertEquals(out, "404");
    }
    const { out } = await run("curl", "-si", `${nginx.plain}/console/`);
    assertMatch(out, /308[\s\S]*Location: https:\/\/127\.0\.0\.1\/console\//);
    await sleep(50); // the log of the last request
    assert(!gateway.log().includes('"level":"error"'), gateway.log());
  },
});
