import type { SentAlert } from "./alert.ts";

/** Alerts that a message to people names one by one. */
const MAX_LINES = 20;
/** Cannot be seen, and is part of no name. */
const WORD_JOINER = "\u2060";

/** What is posted to a webhook. A delivery may carry several alerts. */
export function webhookBody(alerts: readonly SentAlert[]): string {
  return JSON.stringify({
    object: "alerts",
    alerts: alerts.map((one) => ({
      id: one.id,
      kind: one.kind,
      mark: one.mark,
      created_at: new Date(one.createdAtMs).toISOString(),
      account_id: one.accountId,
      team_id: one.teamId,
      title: one.title,
      text: one.text,
      data: one.data,
    })),
  });
}

/** What is posted to Slack, Mattermost and others. */
export function slackBody(alerts: readonly SentAlert[]): string {
  const lines = alerts.slice(0, MAX_LINES)
    .map(({ title, text }) => `*${escaped(title)}*\n${escaped(text)}`);
  const more = alerts.length - lines.length;
  if (more > 0) lines.push(`… and ${more} more: see the console.`);
  return JSON.stringify({ text: lines.join("\n\n") });
}

/**
 * Names are written by users: none may mention a channel or hide a link. Slack does both in angle brackets; Mattermost mentions all who
 * are behind an `@`, and has Markdown's links.
 */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll(/@(?=[\p{L}\p{N}])(?<![\p{L}\p{N}]@)/gu, `@${WORD_JOINER}`)
    .replaceAll("](", "] (");
}
