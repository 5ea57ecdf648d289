import {
  admittedPlans,
  ownerOfReplies,
  shareOfOwnKeys,
} from "../../../src/requests/relay/own_keys.ts";
import type { OwnKey } from "../../../src/requests/upstreams/mod.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("a reply is a key's owner's only if all of it came with keys of the caller's own", () => {
  const [own, gateways] = [{ ownKey: { owner: "team" } as OwnKey }, { ownKey: undefined }];
  for (
    const [plans, share, admitted, owner] of [
      [[], "none", [], undefined],
      [[gateways], "none", [], undefined],
      [[own], "all", [own], "team"],
      [[own, own], "all", [own, own], "team"],
      [[own, gateways], "some", [own], undefined],
      [[gateways, own], "some", [own], undefined],
    ] as const
  ) {
    assertEquals(shareOfOwnKeys(plans), share);
    assertEquals(admittedPlans(plans, { isOwnOnly: true }), admitted);
    assertEquals(admittedPlans(plans, { isOwnOnly: false }), plans);
    assertEquals(ownerOfReplies(plans), owner);
  }
});
