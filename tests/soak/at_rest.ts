import { sleep } from "../fake/temp.ts";
import type { SoakedGateway } from "./gateway.ts";
import type { Failures } from "./tally.ts";
import type { World } from "./world.ts";

/** Requests whose callers left are settled behind their backs, within so long. */
const SETTLED_MS = 15_000;

/** Once nothing is sent any more, nothing runs and nothing is held, and the ledger adds up. */
export async function checkAtRest(
  gateway: SoakedGateway,
  { keys }: World,
  failures: Failures,
): Promise<void> {
  const accounts = [gateway.ownerKey, keys.rich[1]!, keys.poor];
  const start = performance.now();
  let [running, held] = [0, 0];
  do {
    await sleep(200);
    running = await inFlight(gateway);
    const all = await Promise.all(accounts.map((key) => heldBy(gateway, key)));
    held = all.reduce((sum, one) => sum + one, 0);
  } while ((running > 0 || held > 0) && performance.now() - start < SETTLED_MS);
  if (running > 0) failures.add("requests run on with no caller", `${running}`);
  if (held > 0) failures.add("credits are held with no request", `${held} credits`);
  await checkLedger(gateway, failures);
}

/** Every entry re-added by the gateway's own command, and no hold left but those of one that was killed. */
export async function checkLedger(
  gateway: SoakedGateway,
  failures: Failures,
  { killed = false } = {},
): Promise<void> {
  const { code, json } = await gateway.command("credits", "audit");
  if (code !== 0) failures.add("the ledger does not add up", JSON.stringify(json));
  if (json.holds !== 0 && !killed) failures.add("open holds", `${json.holds}`);
}

async function inFlight({ url }: SoakedGateway): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^sluice_requests_in_flight (\d+)/m.exec(text)?.[1]);
}

async function heldBy({ url }: SoakedGateway, key: string): Promise<number> {
  const reply = await fetch(`${url}/user/credits`, { headers: { "x-api-key": key } });
  const { credits_held: held } = await reply.json();
  return Number(held);
}
