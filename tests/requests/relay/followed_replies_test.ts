import { FollowedReplies } from "../../../src/requests/relay/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

Deno.test("an account has a few replies that are followed at a time, whatever others have", () => {
  const followed = new FollowedReplies();
  const ends = [followed.begin("one", 2), followed.begin("one", 2)];
  assert(ends.every((end) => end !== undefined));
  assertEquals(followed.begin("one", 2), undefined);
  const other = followed.begin("other", 2);
  assert(other !== undefined);
  ends[0]!();
  ends[0]!(); // a second time without effect
  const next = followed.begin("one", 2);
  assert(next !== undefined);
  assertEquals(followed.begin("one", 2), undefined);
  assertEquals(followed.begin("none", 0), undefined);
});
