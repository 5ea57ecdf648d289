import { DIALECTS } from "../../../src/wire/dialects/mod.ts";
import { type Customer, customer } from "../../fake/customer.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import type { Random } from "../../fake/random.ts";
import type { Received } from "../../fake/upstream.ts";
import { Books, ROUTE } from "./books.ts";
import { lyingReply } from "./lying_reply.ts";
import {
  type DialectName,
  numbered,
  numberIn,
  type Plan,
  type PlannedRequest,
  planRaid,
  planRequest,
} from "./plan.ts";
import { Sockets } from "./sockets.ts";
import { takeResponse } from "./take_response.ts";

/** Clients that send one request after the other. */
const CLIENTS = 8;
/** Credits of their accounts. */
const CREDITS = [300, 3_000, 30_000, 1e9, 1e9];
/** One who was refused for lack of credits so often has done its worst: a new one takes its place. */
const MAX_REFUSALS = 4;
/** How often a client raids instead: many requests at once for an account that can pay for few. */
const RAIDS = 1 / 60;
const RAID_REQUESTS = 8;
const RAID_CREDITS = [150, 300, 600];

interface Robber extends Customer {
  readonly credits: number;
  refusals: number;
}

/** Everything that is sent to some gateways of one database, and what the upstream replies. */
export class Robbery implements AsyncDisposable {
  readonly books = new Books();
  readonly #sockets: Sockets;
  readonly #random: Random;
  readonly #to: DialectName;
  readonly #plans: Plan[] = [];

  constructor(random: Random, to: DialectName) {
    this.#random = random;
    this.#to = to;
    this.#sockets = new Sockets(random);
  }

  /** Closes its connections. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#sockets[Symbol.asyncDispose]();
  }

  /** What the upstream replies. */
  reply(received: Received): Promise<Response> {
    const plan = this.#plans[numberIn(received.raw)]!;
    const { context } = ROUTE;
    return lyingReply(plan, { received, to: this.#to, random: this.#random, context });
  }

  /** Sends requests, each to any of the gateways; resolves when all clients are done. */
  async run(gateways: readonly TestGateway[], requests: number): Promise<void> {
    const random = this.#random;
    const robbers = await Promise.all(CREDITS.map((credits) => this.#robber(gateways, credits)));
    const client = async () => {
      while (this.#plans.length < requests) {
        if (random.next() < RAIDS) {
          await this.#raid(gateways);
          continue;
        }
        // half of them to one account at a time, so that what it has runs out under several at once
        const place = random.next() < 0.5
          ? Math.floor(this.#plans.length / 50) % robbers.length
          : random.integer(0, robbers.length - 1);
        const robber = robbers[place]!;
        const status = await this.#send(gateways, robber, planRequest(random, this.#to));
        if (status !== 403 || ++robber.refusals !== MAX_REFUSALS) continue;
        robbers[place] = await this.#robber(gateways, robber.credits);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  }

  async #raid(gateways: readonly TestGateway[]): Promise<void> {
    const robber = await this.#robber(gateways, this.#random.pick(RAID_CREDITS));
    const raid = planRaid(this.#random, this.#to, RAID_REQUESTS);
    await Promise.all(raid.map((planned) => this.#send(gateways, robber, planned)));
  }

  async #robber(gateways: readonly TestGateway[], credits: number): Promise<Robber> {
    const budget = this.#random.next() < 0.3 ? Math.ceil(Math.min(credits, 3_000) / 3) : undefined;
    const one = await customer(this.#random.pick(gateways), credits, { keys: 4, budget });
    this.books.open(one.accountId, credits);
    return { ...one, credits, refusals: 0 };
  }

  /** @returns The response's status; 0 if the client disconnected before it came. */
  async #send(
    gateways: readonly TestGateway[],
    { keys }: Robber,
    { plan, body }: PlannedRequest,
  ): Promise<number> {
    const gateway = this.#random.pick(gateways);
    const key = this.#random.pick(keys);
    const { path } = DIALECTS[plan.from].front;
    const sent = numbered(body, this.#plans.push(plan) - 1);
    const canContinue = plan.documentTokens === 0; // its upstream would have to count it again
    const taken = await takeResponse(
      plan,
      this.#random,
      (signal) =>
        plan.overSocket
          ? this.#sockets.post(gateway, sent, { key, signal, canContinue })
          : gateway.post(path, sent, { key, signal }),
    );
    this.books.note(plan, taken);
    return taken.status;
  }
}
