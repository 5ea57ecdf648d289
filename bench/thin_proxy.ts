/** The thinnest possible pass-through: the body in, `fetch`, the body out. It checks nothing. */

const [port = "0", upstream = ""] = Deno.args;

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, async (request) => {
  const path = request.url.endsWith("/messages") ? "/messages" : "/chat/completions";
  const reply = await fetch(`${upstream}${path}`, {
    method: "POST",
    body: request.body,
    headers: { "content-type": "application/json" },
  });
  return new Response(reply.body, {
    status: reply.status,
    headers: { "content-type": reply.headers.get("content-type") ?? "" },
  });
});
