/** What a first target says instead of an answer, and how long it is listened to. */

import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { DEADLINE_MS, sleep } from "../fake/temp.ts";
import { isProof } from "../tier.ts";
import { completion, fakeUpstream, rawServer, readRequest } from "../fake/upstream.ts";

const encoder = new TextEncoder();

/** How the body of an error comes. */
const BODIES: Readonly<Record<string, (connection: Deno.TcpConn) => Promise<void>>> = {
  "says nothing at all": async (connection) => {
    await connection.read(new Uint8Array(1));
  },
  "begins and stalls": async (connection) => {
    await connection.write(encoder.encode('{"error":{"mess'));
    await connection.read(new Uint8Array(1));
  },
  "drips": async (connection) => {
    const over = { is: false };
    const gone = connection.read(new Uint8Array(1)).finally(() => over.is = true);
    gone.catch(() => {});
    while (!over.is) {
      await connection.write(encoder.encode(" "));
      await sleep(100);
    }
  },
};

/** A target whose errors have bodies that do not end. */
function failing(status: number, body: (connection: Deno.TcpConn) => Promise<void>) {
  const one = { asked: 0 };
  const server = rawServer(async (connection) => {
    if (await readRequest(connection) === undefined) return;
    one.asked++;
    const head = `HTTP/1.1 ${status} Sorry\r\ncontent-type: application/json\r\n` +
      "content-length: 5000\r\n\r\n";
    await connection.write(encoder.encode(head));
    await body(connection);
  });
  return Object.assign(one, {
    url: server.url,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

function twoTargets(first: string, second: string): SettingsInput {
  return {
    upstreams: { first: { url: first }, second: { url: second } },
    routes: {
      "svc-k2": {
        targets: [{ upstream: "first", model: "m1" }, { upstream: "second", model: "m2" }],
      },
    },
  };
}

/** The status of a reply, which must come although the body that was begun upstream never ends. */
async function statusSoon(ask: (signal: AbortSignal) => Promise<Response>) {
  return await statusOf(ask(AbortSignal.timeout(DEADLINE_MS))).catch(String);
}

/** So that a cooldown does not end. */
const now = () => Date.UTC(2030, 0, 1);

for (const [how, body] of Object.entries(BODIES)) {
  for (const status of isProof ? [429, 500, 503] : [503]) {
    Deno.test(`a first target's ${status} whose body ${how}: the second answers, and the first rests`, async () => {
      await using first = failing(status, body);
      await using second = fakeUpstream(() => completion("ok"));
      await using gateway = await startGateway({
        now,
        settings: twoTargets(first.url, second.url),
      });
      const ask = (signal: AbortSignal) => gateway.chat("Hi", {}, { signal });
      const replies = await Promise.all(Array.from({ length: 6 }, () => statusSoon(ask)));
      assertEquals(replies, Array(6).fill(200));
      const { asked } = first;
      assertEquals(await statusSoon(ask), 200);
      assertEquals(first.asked, asked, "it was asked although it rests");
      const said = gateway.log().split("\n").filter((line) => line.includes("attempt failed"));
      assert(said.length >= 5 && said.every((line) => line.includes(`status ${status}`)), said[0]);
      await assertLedgerClean(gateway);
    });
  }

  Deno.test(`a 400 whose body ${how} is a 400 for the caller, and soon`, async () => {
    await using first = failing(400, body);
    await using second = fakeUpstream(() => completion("ok"));
    await using gateway = await startGateway({ now, settings: twoTargets(first.url, second.url) });
    const statuses = await Promise.all(
      [false, true].map((stream) =>
        statusSoon((signal) => gateway.chat("Hi", { stream }, { signal }))
      ),
    );
    assertEquals(statuses, [400, 400]);
    assertEquals([first.asked, second.received.length], [2, 0]);
    await assertLedgerClean(gateway);
  });
}
