/**
 * The least that a gateway does: parse the body, rename the model, `fetch`, parse the reply, rename it back. A
 * stream's bytes pass as they are. It checks, counts and stores nothing. With `bare`, bodies pass unparsed too.
 */

const [port = "0", upstream = "", kind = "thin"] = Deno.args;

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, async (request) => {
  const path = request.url.endsWith("/messages") ? "/messages" : "/chat/completions";
  const sent = kind === "bare" ? undefined : await request.json();
  const reply = await fetch(`${upstream}${path}`, {
    method: "POST",
    body: sent === undefined ? request.body : JSON.stringify({ ...sent, model: "m" }),
    headers: { "content-type": "application/json" },
  });
  const type = reply.headers.get("content-type") ?? "";
  const passes = sent === undefined || type.startsWith("text/event-stream");
  const body = passes ? reply.body : JSON.stringify({ ...await reply.json(), model: sent.model });
  return new Response(body, { status: reply.status, headers: { "content-type": type } });
});
