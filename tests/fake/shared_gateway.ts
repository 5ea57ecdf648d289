import { type GatewayOptions, startGateway, type TestGateway } from "./gateway.ts";

/** Declares a test that gets what is shared: a gateway, unless it says otherwise. */
export type SharedTest<T = TestGateway> = (name: string, work: (it: T) => Promise<void>) => void;

/**
 * A gateway for several tests of a file that follow one another, each with accounts of its own. It starts with the first of them
 * and stops with the last. Tests that change settings, or look at all that a gateway has, start their own.
 */
export function sharedGateway(options?: GatewayOptions): SharedTest {
  return shared(() => startGateway(options));
}

/** The same for a gateway with what is around it. */
export function shared<T extends AsyncDisposable>(open: () => Promise<T>): SharedTest<T> {
  let opened: Promise<T> | undefined;
  let left = 0;
  const close = async () => {
    await (await opened)?.[Symbol.asyncDispose]();
    opened = undefined;
  };
  Deno.test.afterAll?.(close); // some of them were left out; Deno 2.4 ends what is left with the process
  return (name, work) => {
    left++;
    Deno.test({
      name,
      async fn() {
        try {
          await work(await (opened ??= open()));
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
