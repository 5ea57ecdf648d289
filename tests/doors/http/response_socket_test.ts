import { RecentMemory, RecentResponses } from "../../../src/doors/http/recent_responses.ts";
import { ResponseSocket } from "../../../src/doors/http/response_socket.ts";
import { assertEquals } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

/** A WebSocket whose client reads only when told to. */
class UnreadSocket extends EventTarget {
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  onmessage: ((event: { data: string }) => void) | undefined;

  send(frame: string): void {
    this.bufferedAmount += frame.length;
  }

  close(): void {
    this.readyState = WebSocket.CLOSING;
  }
}

Deno.test("the next turn waits until the client has read the errors of those before", async () => {
  const socket = new UnreadSocket();
  let requests = 0;
  new ResponseSocket(socket as unknown as WebSocket, {
    request: () => {
      requests++;
      return Promise.resolve(
        Response.json({ error: { message: "x".repeat(300_000) } }, { status: 400 }),
      );
    },
    recent: new RecentResponses(new RecentMemory(1_000), "acct_1", 1_000),
    maxChars: 1_000,
    rejected: () => true,
    onFault: (error) => {
      throw error;
    },
    onClose: () => {},
  });
  const frame = JSON.stringify({ type: "response.create", model: "m", input: "x" });
  socket.onmessage!({ data: frame });
  socket.onmessage!({ data: frame });
  await until(() => requests === 1, { what: "the first request" });
  await sleep(100);
  assertEquals(requests, 1);
  socket.bufferedAmount = 0;
  await until(() => requests === 2, { what: "the second request" });
  socket.bufferedAmount = 0;
  await sleep(50);
});
