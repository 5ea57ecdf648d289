/**
 * Prints what `integrity_check` finds in the database whose path is the argument, and nothing if it is in order.
 *
 * A process of its own: a connection whose statements are not collected yet keeps its locks and its index, and the next
 * connection of the same process would look into an index that the gateway has deleted since.
 */

import { say } from "../fake/command.ts";
import { integrityOf } from "./at_rest.ts";

const damage = integrityOf(Deno.args[0] ?? "");
if (damage !== undefined) say(damage);
