import { type Account, DeviceCodes } from "../../people/accounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { CodeGuesses } from "./attempts.ts";
import { RelativeTime } from "./components.tsx";
import { type GuardedApp, may } from "./guard.ts";
import { ApproveToolPage } from "./pages/approve_tool.tsx";
import { DevicePage } from "./pages/device.tsx";
import { providerOf } from "./tool_pages.tsx";
import {
  type ConsoleParts,
  messagePage,
  page,
  pageOf,
  type PageRequest,
  recordOf,
} from "./request.tsx";

const MAX_CODE_CHARS = 20;

/** Adds approving tools: somebody types the code that a tool shows, sees what asks and from where, and says yes or no by a button. */
export function deviceRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const codes = new DeviceCodes(parts.database, parts.now);
  const guesses = new CodeGuesses(parts.now);
  const refused = async (c: PageRequest, error: string, status?: number) =>
    await page(c, <DevicePage page={pageOf(c, error)} />, status);
  const tooMany = (c: PageRequest) =>
    refused(c, "Too many wrong codes. Wait 10 minutes.", STATUS_CODE.TooManyRequests);
  const unknown = (c: PageRequest, { id }: Account) => {
    guesses.add(id);
    return refused(c, "No tool waits with this code: it may have expired.");
  };
  app.get(
    "/console/device",
    may("self.use", async (c, session) => {
      const code = (c.req.query("code") ?? "").slice(0, MAX_CODE_CHARS);
      if (code === "") return await page(c, <DevicePage page={pageOf(c)} />);
      const { account } = session;
      if (guesses.isOver(account.id)) return await tooMany(c);
      const tool = await codes.find(code);
      if (tool === undefined) return await unknown(c, account);
      return await page(
        c,
        <ApproveToolPage
          page={pageOf(c)}
          action="/console/device"
          tool={tool.client}
          email={account.email}
          facts={[
            ["Its address", tool.address],
            ["Since", <RelativeTime ms={tool.sinceMs} nowMs={parts.now()} />],
          ]}
          fields={{ code: code.toUpperCase() }}
        />,
      );
    }),
  );
  app.post(
    "/console/device",
    may("self.use", async (c, session) => {
      const { form } = c.var;
      const { account } = session;
      const decision = form.choice("decision", "approve or deny", ["approve", "deny"]);
      const isApproved = decision === "approve";
      // a form is a guess as good as an address
      if (guesses.isOver(account.id)) return await tooMany(c);
      const isDone = await codes.decide(
        form.text("code").slice(0, MAX_CODE_CHARS),
        { id: account.id, provider: await providerOf(c, parts, session) },
        isApproved,
        (onlyIf) => recordOf(c, parts, { session, operation: `tool.${decision}`, onlyIf }),
      );
      if (!isDone) return await unknown(c, account);
      return await messagePage(c, {
        title: isApproved ? "Approved" : "Denied",
        text: isApproved ? "The tool goes on by itself in some seconds." : "The tool gets nothing.",
        link: { href: "/console/keys", words: "Keys and tools" },
      });
    }),
  );
}
