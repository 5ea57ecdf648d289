import type { Database, Row } from "../../ground/database/mod.ts";
import { isNotGranted, lotStatement } from "../ledger/mod.ts";
import { type NewOrder, orderStatement } from "./orders.ts";
import { paymentStatement } from "./settle_payment.ts";

/** A package that was sold, or given, by hand. */
export interface HandSale extends Omit<NewOrder, "id" | "provider" | "origin" | "livemode"> {
  /** Whether money was paid. */
  readonly isPayment: boolean;
  readonly bonusCredits: number;
}

/**
 * Records the sale of a package by hand: an order that is paid at once. Recording it again changes nothing.
 *
 * @returns The lot that the reference made, now or earlier, and whether this call made it.
 */
export async function recordSale(
  database: Database,
  sale: HandSale,
): Promise<{ readonly lot: Row | undefined; readonly isRepeated: boolean }> {
  // follows from the lot's, which follows from account and reference
  const orderId = `ord_${sale.lotId.replace(/^lot_/, "")}`;
  const [made, , lots] = await database.batch([
    // a grant under the same reference has made the lot: then there is nothing to sell
    orderStatement({
      ...sale,
      id: orderId,
      provider: sale.isPayment ? "manual" : "gift",
      origin: "operator",
      amount: sale.isPayment ? sale.amount : 0,
      livemode: true,
    }, isNotGranted(sale.lotId)),
    paymentStatement({
      orderId,
      paymentId: `${sale.isPayment ? "manual" : "gift"}_${sale.lotId}`,
      amount: sale.isPayment ? sale.amount : 0,
      bonusCredits: sale.bonusCredits,
      isPayment: sale.isPayment,
      atMs: sale.atMs,
    }),
    lotStatement(sale.lotId),
  ]);
  return { lot: lots![0], isRepeated: made!.length === 0 };
}
