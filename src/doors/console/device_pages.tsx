import { type Account, DeviceCodes, type Session } from "../../people/accounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { CodeGuesses } from "./attempts.ts";
import { RelativeTime } from "./components.tsx";
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

/** Approving tools: somebody types the code that a tool shows, sees what asks and from where, and says yes or no by a button. */
export class DevicePages {
  readonly #parts: ConsoleParts;
  readonly #codes: DeviceCodes;
  readonly #guesses: CodeGuesses;

  constructor(parts: ConsoleParts) {
    const { database, now } = parts;
    this.#parts = parts;
    this.#codes = new DeviceCodes(database, now);
    this.#guesses = new CodeGuesses(now);
  }

  async show(c: PageRequest, session: Session): Promise<Response> {
    const code = (c.req.query("code") ?? "").slice(0, MAX_CODE_CHARS);
    if (code === "") return await page(c, <DevicePage page={pageOf(c)} />);
    const { account } = session;
    if (this.#guesses.isOver(account.id)) return await this.#tooMany(c);
    const tool = await this.#codes.find(code);
    if (tool === undefined) return await this.#unknown(c, account);
    return await page(
      c,
      <ApproveToolPage
        page={pageOf(c)}
        action="/console/device"
        tool={tool.client}
        email={account.email}
        facts={[
          ["Its address", tool.address],
          ["Since", <RelativeTime ms={tool.sinceMs} nowMs={this.#parts.now()} />],
        ]}
        fields={{ code: code.toUpperCase() }}
      />,
    );
  }

  async decide(c: PageRequest, session: Session): Promise<Response> {
    const { form } = c.var;
    const { account } = session;
    const decision = form.choice("decision", "approve or deny", ["approve", "deny"]);
    const isApproved = decision === "approve";
    // a form is a guess as good as an address
    if (this.#guesses.isOver(account.id)) return await this.#tooMany(c);
    const isDone = await this.#codes.decide(
      form.text("code").slice(0, MAX_CODE_CHARS),
      { id: account.id, provider: await providerOf(c, this.#parts, session) },
      isApproved,
      (onlyIf) => recordOf(c, this.#parts, { session, operation: `tool.${decision}`, onlyIf }),
    );
    if (!isDone) return await this.#unknown(c, account);
    return await messagePage(c, {
      title: isApproved ? "Approved" : "Denied",
      text: isApproved ? "The tool goes on by itself in some seconds." : "The tool gets nothing.",
      link: { href: "/console/keys", words: "Keys and tools" },
    });
  }

  #tooMany(c: PageRequest): Promise<Response> {
    return this.#form(c, "Too many wrong codes. Wait 10 minutes.", STATUS_CODE.TooManyRequests);
  }

  #unknown(c: PageRequest, { id }: Account): Promise<Response> {
    this.#guesses.add(id);
    return this.#form(c, "No tool waits with this code: it may have expired.");
  }

  async #form(c: PageRequest, error: string, status?: number): Promise<Response> {
    return await page(c, <DevicePage page={pageOf(c, error)} />, status);
  }
}
