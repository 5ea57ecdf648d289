import type { ImageView } from "./dialect.ts";
import { isObject, type JsonObject, type JsonValue, text } from "./json.ts";
import { COUNTED_KINDS } from "./meter.ts";
import { holderOf, isSetting } from "./meter_request.ts";

/** Kinds of parts and items that hold something else or say where a text came from; what they hold decides. */
const KINDS = new Set([
  ...COUNTED_KINDS,
  ...("image image_url input_image document file input_file input_audio audio base64 url content " +
    "url_citation file_citation char_location page_location content_block_location search_result_location " +
    "web_search_result_location web_search_result web_search_tool_result server_tool_use web_search_call " +
    "local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output " +
    "mcp_call mcp_list_tools mcp_approval_request mcp_approval_response")
    .split(" "),
]);

/** Kinds whose addresses are only named, also in what they hold. */
const CITING =
  /^(url_citation|file_citation|search_result|web_search_.*|.*_location|server_tool_use)$/;
/** Where they name them. */
const CITED = new Set(["url", "uri", "source", "sources"]);

/** What lists of parts and items stand under. An object elsewhere describes one: its kind is its own affair. */
const LISTS = new Set(["messages", "system", "input", "content", "output", "parts"]);

/** Names of fields that say what is to be read, with an address in them. */
const READ = /(?:^|[_-])(?:ur[il]|file|document|attachment|source|image|audio|video|data)s?$/i;
/** Names, without case and hyphens, of files of the provider's and of documents in the request. */
const FILES = new Set(["fileid", "filedata"]);
/** Where an image is that was looked at. */
const IMAGE_FIELDS = new Set(["url", "image_url", "data"]);
const REMOTE = /^\s*[a-z][a-z0-9+.-]{1,20}:/i;

/**
 * Whether a request has something of which only its upstream gets to know how long it is: a document, a file, an address, a part
 * of a kind that is unknown here. Images are looked at before they are sent, and count by their sizes.
 */
export function isOpenEnded(body: JsonObject, images: readonly ImageView[]): boolean {
  const known = images.length === 0
    ? NONE
    : new Set(images.map(({ param }) => holderOf(body, param)));
  const around = { known, isCited: false };
  for (const key in body) {
    const value = body[key];
    const isOpen = key === "messages" || key === "system" || key === "input"
      ? hasOpenEnd(value, key, around)
      : !isSetting(key) && namesAddress(key, value);
    if (isOpen) return true;
  }
  return false;
}

const NONE: ReadonlySet<JsonValue> = new Set();

/** Where something stands. */
interface Surroundings {
  /** What images that were looked at were found in. */
  readonly known: ReadonlySet<JsonValue>;
  /** Whether addresses are only named there. */
  readonly isCited: boolean;
}

function hasOpenEnd(value: JsonValue | undefined, key: string, around: Surroundings): boolean {
  if (Array.isArray(value)) {
    const isList = LISTS.has(key);
    return value.some((one) =>
      isObject(one)
        ? isList && isUnknownKind(one) || objectHasOpenEnd(one, around)
        : hasOpenEnd(one, key, around)
    );
  }
  if (isObject(value)) return objectHasOpenEnd(value, around);
  if (typeof value !== "string" || value === "") return false;
  if (FILES.has(key.replaceAll(/[_-]/g, "").toLowerCase())) return true;
  return READ.test(key) && REMOTE.test(value) && !(around.isCited && CITED.has(key));
}

function isUnknownKind({ type }: JsonObject): boolean {
  return typeof type === "string" && type !== "" && !KINDS.has(type);
}

function objectHasOpenEnd(value: JsonObject, around: Surroundings): boolean {
  const type = text(value.type) ?? "";
  const isImage = around.known.has(value);
  const inside = !around.isCited && CITING.test(type) ? { ...around, isCited: true } : around;
  for (const key in value) {
    const part = value[key];
    // arguments of a call are text in a prompt
    if (key === "input" && type === "tool_use") continue;
    if (isImage && typeof part === "string" && IMAGE_FIELDS.has(key)) continue;
    if (key === "data" && type === "base64" && part !== "") return true;
    if (hasOpenEnd(part, key, inside)) return true;
  }
  return false;
}

/** Whether a field that no dialect has names the address of something that is to be read. */
function namesAddress(key: string, value: JsonValue | undefined): boolean {
  if (typeof value === "string") return READ.test(key) && REMOTE.test(value);
  if (Array.isArray(value)) return value.some((one) => namesAddress(key, one));
  return isObject(value) && Object.entries(value).some(([inner, one]) => namesAddress(inner, one));
}
