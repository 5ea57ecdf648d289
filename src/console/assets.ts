import { STATUS_CODE } from "../std.ts";

/** What pages load, with its type; all of it is in the executable. */
const ASSETS: Readonly<Record<string, string>> = {
  "style.css": "text/css; charset=utf-8",
  "console.js": "text/javascript; charset=utf-8",
  "playground.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

const loaded = new Map<string, string>();

/** A style, a script or a picture of the console's own. */
export async function asset(name: string): Promise<Response> {
  const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (type === undefined) return new Response(null, { status: STATUS_CODE.NotFound });
  let content = loaded.get(name);
  if (content === undefined) {
    content = await Deno.readTextFile(new URL(`assets/${name}`, import.meta.url));
    loaded.set(name, content);
  }
  return new Response(content, {
    headers: { "content-type": type, "cache-control": "public, max-age=300" },
  });
}
