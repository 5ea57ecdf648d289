import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { sleep, tempDir, until } from "../fake/temp.ts";

const NGINX = "/usr/sbin/nginx";
const installed = await Deno.stat(NGINX).then(() => true, () => false);

async function run(program: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

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
  await until(async () => (await run("curl", "-sk", `${url}/healthz`)).code === 0);
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
    await using gateway = await startGateway({
      settings: {
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

    // each event comes by itself: what is buffered comes at once
    const stream = new Deno.Command("curl", {
      args: ask("[[tokens 8]] [[pace 100ms]]", true),
      stdout: "piped",
    }).spawn();
    const times: number[] = [];
    let text = "";
    for await (const chunk of stream.stdout.pipeThrough(new TextDecoderStream())) {
      times.push(performance.now());
      text += chunk;
    }
    await stream.status;
    assertStringIncludes(text, "data: [DONE]");
    assert(times.length >= 5, `${times.length} pieces`);
    assert(times.at(-1)! - times[0]! > 400, `all within ${times.at(-1)! - times[0]!} ms`);

    // a client that disconnects
    const left = new Deno.Command("curl", {
      args: ask("[[tokens 900]] [[pace 100ms]]", true),
      stdout: "piped",
    }).spawn();
    const reader = left.stdout.getReader();
    await reader.read();
    assertEquals(gateway.gateway.inFlight.count, 1);
    await reader.cancel();
    left.kill("SIGKILL");
    await left.status;
    await until(() => gateway.gateway.inFlight.count === 0, { what: "the disconnect" });

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
