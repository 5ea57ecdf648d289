import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";

/** Declares a test that gets the gateway. */
export type SharedTest = (name: string, work: (gateway: TestGateway) => Promise<void>) => void;

/**
 * A gateway for several tests of a file that follow one another, each with accounts of its own. It starts with the first of them
 * and stops with the last. Tests that change settings, or look at all that a gateway has, start their own.
 */
export function sharedGateway(options?: GatewayOptions): SharedTest {
  let opened: Promise<TestGateway> | undefined;
  let left = 0;
  const close = async () => {
    await (await opened)?.[Symbol.asyncDispose]();
    opened = undefined;
  };
  Deno.test.afterAll(close); // some of them were left out
  return (name, work) => {
    left++;
    Deno.test({
      name,
      async fn() {
        try {
          await work(await (opened ??= startGateway(options)));
        } finally {
          if (--left === 0) await close();
        }
      },
      // the gateway goes on from one test to the next
      sanitizeOps: false,
      sanitizeResources: false,
    });
  };
}
