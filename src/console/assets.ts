/** Assets by name, with their media type. All are part of the executable. */
const ASSETS: Readonly<Record<string, string>> = {
  "style.css": "text/css; charset=utf-8",
  "console.js": "text/javascript; charset=utf-8",
  "playground.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

const loaded = new Map<string, string>();

/** Serves an asset: the style sheet, a script or the icon. */
export async function asset(name: string): Promise<Response> {
  const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (type === undefined) return new Response(null, { status: 404 });
  let content = loaded.get(name);
  if (content === undefined) {
    content = await Deno.readTextFile(new URL(`assets/${name}`, import.meta.url));
    loaded.set(name, content);
  }
  return new Response(content, {
    headers: { "content-type": type, "cache-control": "public, max-age=300" },
  });
}
