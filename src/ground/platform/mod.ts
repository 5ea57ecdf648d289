/**
 * What the platform lacks: signals that follow others, bytes and their text, cheap timeouts, ids, calls between threads,
 * text that is safe to display, network errors in words.
 *
 * Promise: no dependencies, and nothing here knows what a gateway is.
 *
 * @module
 */

export { following, forEachOf, until } from "./abort.ts";
export { humanBytes, joinBytes, sizeOf } from "./bytes.ts";
export { cFunctions } from "./c_library.ts";
export { CoarseTimers } from "./coarse_timers.ts";
export { collectGarbage, collectGarbageWhenIdle, collectYoungGarbage } from "./collect_garbage.ts";
export { digestOf } from "./digest.ts";
export { endAtOnce } from "./end_at_once.ts";
export { endOfTurn } from "./end_of_turn.ts";
export { displayed, displayedLines, misleading } from "./display_text.ts";
export { type ArgumentOf, type ChannelEnd, type Methods, PortCalls } from "./port_calls.ts";
export { limitFiles, memoryLimitBytes, printed } from "./memory_limit.ts";
export { jsonIn } from "./json_in.ts";
export { lowerPriority } from "./lower_priority.ts";
export { networkErrorWords } from "./network_error.ts";
export { isVisible, nameFrom, seenAs, tidyName, toldApart, whyNoName } from "./names.ts";
export { newId, newRequestId, randomText } from "./ids.ts";
export { limitFreeMemory, releaseMemory } from "./release_memory.ts";
export { residentBytes } from "./resident_memory.ts";
export { SlotMap } from "./slot_map.ts";
export { decodeUtf8 } from "./utf8.ts";
export { VERSION } from "./version.ts";
export { wellFormedJson } from "./well_formed_json.ts";
export { within } from "./within.ts";
export { ZoneFormats } from "./zone_formats.ts";
export { limitTurns } from "./turn_limit.ts";
