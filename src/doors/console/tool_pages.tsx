import { type Session, ToolCodes, ToolGrants } from "../../people/accounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import {
  answerTo,
  AUTHORIZE_FIELDS,
  AuthorizeError,
  type AuthorizeRequest,
  readAuthorizeRequest,
} from "../oauth/mod.ts";
import { type GuardedApp, may } from "./guard.ts";
import { ApproveToolPage } from "./pages/approve_tool.tsx";
import {
  addressOf,
  type ConsoleParts,
  messagePage,
  page,
  pageOf,
  type PageRequest,
  recordOf,
  seeOther,
} from "./request.tsx";

/** Adds the pages on which somebody approves a tool by a browser, and signs tools out. */
export function toolRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const codes = new ToolCodes(parts.database, parts.now);
  const grants = toolGrantsOf(parts);
  const read = (c: PageRequest, sent: URLSearchParams): AuthorizeRequest | AuthorizeError => {
    const clients = parts.config.settings.signIn?.clients ?? [];
    try {
      return readAuthorizeRequest(sent, { issuer: addressOf(c, parts.config), clients });
    } catch (error) {
      if (error instanceof AuthorizeError) return error;
      throw error;
    }
  };
  app.get(
    "/console/authorize",
    may("self.use", async (c, { account }) => {
      const request = read(c, new URL(c.req.url).searchParams);
      if (request instanceof AuthorizeError) return await refused(c, request);
      const { hostname, host } = new URL(request.redirectUri);
      const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
      return await page(
        c,
        <ApproveToolPage
          page={pageOf(c)}
          action="/console/authorize"
          tool={request.client.name}
          email={account.email}
          facts={[["Answer goes to", isHere ? "a program on the machine of this browser" : host]]}
          fields={fieldsOf(request)}
        />,
      );
    }),
  );
  app.post(
    "/console/authorize",
    may("self.use", async (c, session) => {
      const { form } = c.var;
      const request = read(c, new URLSearchParams(form.entries.map(([...field]) => field)));
      if (request instanceof AuthorizeError) return await refused(c, request);
      const decision = form.choice("decision", "approve or deny", ["approve", "deny"]);
      const issuer = addressOf(c, parts.config);
      const record = recordOf(c, parts, { session, operation: `tool.${decision}` });
      if (decision === "deny") {
        await parts.database.batch([record]);
        return await leadOn(c, answerTo(request, { issuer, error: "access_denied" }), "Denied");
      }
      const code = await codes.issue(session.account, {
        clientId: request.client.id,
        client: request.client.name,
        redirectUri: request.redirectUri,
        challenge: request.challenge,
        address: c.env.visitor.address,
        provider: await providerOf(c, parts, session),
      }, [record]);
      return await leadOn(c, answerTo(request, { issuer, code }), "Approved");
    }),
  );
  // one tool of the account, or all
  const end = may("self.use", async (c, session) => {
    await grants.endOf(
      session.account,
      c.req.param("key"),
      (onlyIf) => recordOf(c, parts, { session, operation: "tool.sign_out", onlyIf }),
    );
    return seeOther(c, "/console/keys?done=tool-ended");
  });
  app.post("/console/tools/end", end);
  app.post("/console/tools/:key/end", end);
}

/** The provider that has signed in the session of a request; `null` if none has. */
export async function providerOf(
  c: PageRequest,
  { sessions }: Pick<ConsoleParts, "sessions">,
  { account }: Session,
): Promise<string | null> {
  const all = await sessions.list(account, { own: c.var.token });
  return all.find(({ isOwn }) => isOwn)?.provider ?? null;
}

/** The tools of accounts. */
export function toolGrantsOf(parts: ConsoleParts): ToolGrants {
  const { database, now } = parts;
  return new ToolGrants({ database, now, key: () => parts.operations.sealKey() });
}

/** Says why a tool gets nothing. It is not told: who links to this page could use it to lead elsewhere. */
async function refused(c: PageRequest, { message }: AuthorizeError): Promise<Response> {
  const status = STATUS_CODE.BadRequest;
  return await messagePage(c, { title: "This tool cannot sign in", text: message, status });
}

/** Leads the browser to a tool. By a page: a browser lets no form lead elsewhere (`form-action` of the content policy). */
async function leadOn(c: PageRequest, answer: URL, title: string): Promise<Response> {
  const response = await messagePage(c, {
    title,
    text: "The tool goes on by itself. If it does not, follow the link.",
    link: { href: answer.href, words: "Back to the tool" },
  });
  response.headers.set("refresh", `0; url=${answer.href}`);
  return response;
}

function fieldsOf({ client, redirectUri, state, challenge }: AuthorizeRequest) {
  const fields: Record<typeof AUTHORIZE_FIELDS[number], string | undefined> = {
    client_id: client.id,
    redirect_uri: redirectUri,
    response_type: "code",
    state,
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  return Object.fromEntries(
    AUTHORIZE_FIELDS.flatMap((name) => fields[name] === undefined ? [] : [[name, fields[name]]]),
  );
}
