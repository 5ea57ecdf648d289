import * as z from "zod";
import {
  type LentToGateway,
  lentToGateways,
  loanWriteOff,
  writeOffLoans,
} from "../../money/ledger/mod.ts";
import { conflict, missing } from "../../people/operation_log/mod.ts";
import { wholeList } from "./lookup.ts";
import { defineRead, defineWrite, type OperationContext } from "./operation.ts";
import { credits, describer, iso, timestamp } from "./shapes/common.ts";

const loanShape = z.strictObject({
  gateway_id: z.string().describe(
    "ID of the gateway: it is in the file `gateway.id` of its data directory.",
  ),
  accounts: z.int().describe("Accounts of which it was lent something."),
  credits,
  lease_until: timestamp.describe("Until when it may spend them, unless it renews its lease."),
  lapsed_accounts: z.int().describe(
    "Accounts of which it has not returned in time what it was lent.",
  ),
  lapsed_credits: credits.describe(
    "Credits that it may not spend any more and has not returned. They are free again when it is started with its data directory, or " +
      "when they are written off.",
  ),
  lapsed_keys: z.array(z.string()).describe(
    "IDs of the keys with budgets that some of these were lent for: they are held in those budgets.",
  ),
});

/** Describes what a gateway is lent. */
const describeLent = describer(loanShape, ({ leaseUntilMs }: LentToGateway) => ({
  lease_until: iso(leaseUntilMs),
}));

export const LOAN_LIST = defineRead({
  input: z.strictObject({}),
  output: loanShape,
}, {
  name: "loan.list",
  path: "/loans",
  summary: "List what each gateway is lent, those first that have been gone for longest",
  action: "audit.run",
  isList: true,
  async read({ parts: { database } }) {
    return wholeList((await lentToGateways(database)).map((one) => describeLent(one)));
  },
});

const writeOffShape = z.strictObject({
  id: z.string(),
  gateway_id: z.string(),
  accounts: z.int().describe("Accounts whose credits were lent."),
  credits: credits.describe("Credits that are free again."),
  note: z.string(),
  at: timestamp,
});

const describeWriteOff = describer(writeOffShape);

async function writtenOff({ parts }: OperationContext, id: string) {
  const found = await loanWriteOff(parts.database, id);
  return found === undefined ? null : describeWriteOff({ id, ...found });
}

export const LOAN_WRITE_OFF = defineWrite({
  input: z.strictObject({
    gateway: z.string().min(1).max(100).describe("ID of the gateway."),
    note: z.string().min(1).meta({ maxLength: 500 }).describe("Why it is not waited for."),
  }),
  output: writeOffShape,
}, {
  name: "loan.write_off",
  path: "/loans/{gateway}/write-off",
  summary: "Write off what a gateway was lent that is gone for good",
  description:
    "Only what it may not spend any more. Should its data directory turn up again, what it sold is charged as far as the accounts have " +
    "the credits then.",
  status: 201,
  action: "credits.move",
  find({ ids }, { gateway }) {
    return Promise.resolve({ target: ids.id("write_off"), objectId: gateway });
  },
  state: writtenOff,
  async run({ database }, { parts, nowMs }, { target: id, input: { gateway, note } }) {
    const [lent] = await lentToGateways(parts.database, gateway);
    if (lent === undefined) throw missing("Gateway with loans", gateway);
    if (lent.lapsedAccounts === 0) {
      throw conflict(
        `The gateway may spend what it was lent until ${
          iso(lent.leaseUntilMs)
        }, or renews it: it is not gone. Stop it, or wait.`,
      );
    }
    await writeOffLoans(database, { id, gatewayId: gateway, note, atMs: nowMs });
  },
  reply(_c, { after }) {
    // its gateway came back in the last moment
    if (after === null) throw conflict("The gateway has returned it.");
    return Promise.resolve(after);
  },
});
