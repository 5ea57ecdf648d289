/** Records say why a request failed: the reason and message of its error, and the attempts that were made. */
export const REASONS = [
  `alter table usage_records add column reason text check (length(reason) between 1 and 40)`,
  `alter table usage_records add column message text check (length(message) <= 700)`,
  // A list of objects; null where every attempt got a reply.
  `alter table usage_records add column attempt_list text check (json_valid(attempt_list))`,
];
