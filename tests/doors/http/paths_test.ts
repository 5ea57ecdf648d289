import { ADMIN_BASE, isAdminPath } from "../../../src/doors/http/admin_path.ts";
import { isScimPath, SCIM_BASE } from "../../../src/doors/http/scim_path.ts";
import { assertEquals } from "../../assert.ts";

for (const [base, belongs] of [[ADMIN_BASE, isAdminPath], [SCIM_BASE, isScimPath]] as const) {
  Deno.test(`${base} and all below it are of one API, and nothing that only begins alike`, () => {
    const paths = [
      base,
      `${base}/`,
      `${base}/x`,
      `${base}x`,
      `${base.slice(0, -1)}`,
      `/x${base}/x`,
      "/",
    ];
    assertEquals(paths.map(belongs), [true, true, true, false, false, false, false]);
  });
}
