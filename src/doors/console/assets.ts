import { Entity } from "../../ground/web/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";

/** What pages load, with its type; all of it is in the executable. */
const ASSETS: Readonly<Record<string, string>> = {
  "style.css": "text/css; charset=utf-8",
  "console.js": "text/javascript; charset=utf-8",
  "elements.js": "text/javascript; charset=utf-8",
  "forms.js": "text/javascript; charset=utf-8",
  "times.js": "text/javascript; charset=utf-8",
  "live.js": "text/javascript; charset=utf-8",
  "playground.js": "text/javascript; charset=utf-8",
  "dialects.js": "text/javascript; charset=utf-8",
  "passkeys.js": "text/javascript; charset=utf-8",
  "sdk_code.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

/** Leaves out comments and white space beside braces and semicolons, which no string in it may contain. */
export function compactCss(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, "").replaceAll(/\s*([{};])\s*/g, "$1")
    .replaceAll(/\n\s*/g, "\n").trim();
}

/** Styles, scripts and pictures of the console's own, each read when it is first asked for. */
export class Assets {
  readonly #loaded = new Map<string, Entity>();

  async respond(name: string, request: Request): Promise<Response> {
    const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (type === undefined) return new Response(null, { status: STATUS_CODE.NotFound });
    let entity = this.#loaded.get(name);
    if (entity === undefined) {
      const text = await Deno.readTextFile(new URL(`assets/${name}`, import.meta.url));
      entity = await Entity.of(name.endsWith(".css") ? compactCss(text) : text, type);
      this.#loaded.set(name, entity);
    }
    return entity.respond(request, { "cache-control": "public, max-age=300" });
  }
}
