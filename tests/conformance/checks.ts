import { chatChecks } from "./chat_checks.ts";
import { commonChecks } from "./common_checks.ts";
import { embeddingsChecks } from "./embeddings_checks.ts";
import { messagesChecks } from "./messages_checks.ts";
import { responseSocketChecks } from "./response_socket_checks.ts";
import { responsesChecks } from "./responses_checks.ts";
import type { Target } from "./target.ts";

/** One thing that clients rely on. */
export interface Check {
  /** What must hold, as a sentence. */
  readonly holds: string;
  /** Throws when it does not. */
  run(target: Target): Promise<void>;
}

/** The outcome of a check. */
export interface Outcome {
  readonly group: string;
  readonly holds: string;
  /** Why it does not hold; undefined when it does. */
  readonly fault: string | undefined;
}

const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  chat: chatChecks,
  messages: messagesChecks,
  responses: [...responsesChecks, ...responseSocketChecks],
  all: commonChecks,
  embeddings: embeddingsChecks,
};

/** The groups of checks; each can run beside the others. */
export const GROUPS: readonly string[] = Object.keys(CHECKS);

/** Runs every check, or those of one group, one after the other, telling each outcome as it comes. */
export async function* runChecks(target: Target, only?: string): AsyncGenerator<Outcome> {
  for (const [group, checks] of Object.entries(CHECKS)) {
    if (only !== undefined && only !== group) continue;
    if (group === "embeddings" && target.models.embeddings === undefined) continue;
    for (const { holds, run } of checks) {
      yield { group, holds, fault: await faultOf(run(target)) };
    }
  }
}

async function faultOf(running: Promise<void>): Promise<string | undefined> {
  try {
    await running;
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // deno-lint-ignore no-control-regex -- colours of the assertion's text
    return message.replaceAll(/\x1b\[[0-9;]*m/g, "").replaceAll(/\s+/g, " ").trim().slice(0, 240);
  }
}
