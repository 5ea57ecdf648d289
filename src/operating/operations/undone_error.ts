import { OperationError } from "../../people/operation_log/mod.ts";

/**
 * Thrown by a write that was logged before it acted outside of the database, and that left nothing changed there. It is in
 * the log twice: as carried out, and as failed.
 */
export class UndoneError extends OperationError {
  /** @param message What failed, and what became of the change. */
  constructor(message: string, options?: ErrorOptions) {
    super("conflict", message, options);
  }
}
