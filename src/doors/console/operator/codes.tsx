import type { Session } from "../../../people/accounts/mod.ts";
import { CREDITS, DAYS } from "../../../settings/config/mod.ts";
import {
  CODE_CREATE,
  CODE_REVOKE,
  CODES,
  isoOf,
  madeCodesShape,
  mayOperate,
} from "../../../operating/operations/mod.ts";
import { newCodeId, type RedemptionCode } from "../../../money/payments/mod.ts";
import { Badge, Copyable, Field, Form, Select, Table, Time } from "../components.tsx";
import { count, number } from "../format.ts";
import { pageWithForms } from "../forms.ts";
import type { GuardedApp } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { DAY_MS } from "../../../ground/time.ts";

const PATH = "/console/operator/codes";
const CODES_SHOWN = 200;

/** What the page shows besides the codes. */
interface More {
  readonly error?: string;
  /** Codes that were just made. */
  readonly made?: readonly string[];
}

/** Redemption codes: made, listed and revoked. */
export function codesRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { now } = parts;
  const post = pageWithForms<Pick<Session, "account">, More>(app, parts, "/codes", {
    action: "payments.read",
    show: (c, session, _page, more) => codesPage(c, parts, session, more),
  });
  post("", CODE_CREATE, {
    input(form) {
      const days = form.count("expires", "Days", DAYS);
      return {
        id: form.text("id") || undefined,
        package: form.sent("package") || undefined,
        credits: form.count("credits", "Credits", CREDITS),
        valid_days: form.count("valid", "Lifetime", DAYS),
        expires_at: days === undefined ? undefined : isoOf(now() + days * DAY_MS),
        count: form.count("count", "Number of codes", CODES),
        note: form.text("note"),
      };
    },
    shows: (reply) => ({ made: madeCodesShape.parse(reply).codes.map(({ code }) => code) }),
  });
  post("/:code/revoke", CODE_REVOKE, {
    input: (_form, _about, c) => ({ code: c.req.param("code") ?? "" }),
    done: "code-revoked",
  });
}

async function codesPage(
  c: PageRequest,
  { codes, accounts, sales: { packages }, now }: ConsoleParts,
  session: Session,
  { made, error }: More,
): Promise<Response> {
  const context = pageOf(c, error);
  const all = await codes.list({ limit: CODES_SHOWN });
  const people = await accounts.byIds(all.flatMap(({ redeemedBy }) => redeemedBy ?? []));
  const mayManage = mayOperate(session, CODE_CREATE);
  const nowMs = now();
  return await page(
    c,
    <Layout page={context} title="Redemption codes">
      {made === undefined ? null : (
        <section class="card">
          <h2>{count(made.length, "new code")}</h2>
          <p>Copy them now. You won't be able to see them again.</p>
          <Copyable text={made.join("\n")} label="the new codes" />
        </section>
      )}
      <p>Each code is worth a package or a number of credits, once. Only its beginning is kept.</p>
      <Table<RedemptionCode>
        caption="Redemption codes, newest first"
        rows={all}
        empty="No codes yet."
        columns={[
          { name: "code", cell: ({ hint }) => `${hint}…` },
          { name: "made", cell: ({ createdAtMs }) => <Time ms={createdAtMs} dayOnly /> },
          {
            name: "worth",
            // by its present name; that of one that is gone is kept
            cell: ({ packageId, packageName }) =>
              packages.find(({ id }) => id === packageId)?.name ?? packageName ?? "credits",
          },
          { name: "credits", role: "figure", cell: ({ credits }) => number(credits) },
          { name: "state", bare: true, cell: (code) => <CodeState code={code} nowMs={nowMs} /> },
          {
            name: "redeemed by",
            cell: ({ redeemedBy }) =>
              redeemedBy === null ? "–" : (
                <a href={`/console/operator/accounts/${redeemedBy}`}>
                  {people.get(redeemedBy)?.email ?? redeemedBy}
                </a>
              ),
          },
          { name: "note", cell: ({ note }) => note || "–" },
          {
            name: "",
            cell: ({ id, hint, redeemedAtMs, revokedAtMs }) =>
              !mayManage || redeemedAtMs !== null || revokedAtMs !== null
                ? ""
                : (
                  <Form action={`${PATH}/${id}/revoke`} csrf={context.csrf}>
                    <button type="submit" class="danger" aria-label={`Revoke ${hint}`}>
                      Revoke
                    </button>
                  </Form>
                ),
          },
        ]}
      />
      {all.length < CODES_SHOWN ? null : <p>Older ones: sluice codes list</p>}
      {!mayManage ? null : (
        <>
          <h2>Make codes</h2>
          <Form action={PATH} csrf={context.csrf} class="card narrow">
            <input type="hidden" name="id" value={newCodeId()} />
            <Select
              label="Worth"
              name="package"
              options={[
                ["", "a number of credits"],
                ...packages.map(({ id, name, credits }) =>
                  [id, credits === null ? name : `${name}, ${number(credits)} credits`] as const
                ),
              ]}
            />
            <Field
              label="Credits"
              name="credits"
              min={1}
              hint="Without a package, or for one without a fixed number."
            />
            <Field
              label="Credits are valid for (days)"
              name="valid"
              min={1}
              hint="Empty: they never expire. A package sets it itself."
            />
            <Field
              label="Can be redeemed for (days)"
              name="expires"
              min={1}
              hint="Empty: always."
            />
            <Field label="How many codes" name="count" min={1} value="1" />
            <Field label="Note" name="note" maxlength={500} hint="For operators." />
            <button type="submit">Make codes</button>
          </Form>
        </>
      )}
    </Layout>,
  );
}

function CodeState({ code, nowMs }: { code: RedemptionCode; nowMs: number }) {
  const { redeemedAtMs, revokedAtMs, expiresAtMs } = code;
  if (redeemedAtMs !== null) return <Badge tone="good">redeemed</Badge>;
  if (revokedAtMs !== null) return <Badge tone="bad">revoked</Badge>;
  if (expiresAtMs === null) return <Badge tone="calm">open</Badge>;
  if (expiresAtMs <= nowMs) return <Badge tone="warn">expired</Badge>;
  return (
    <>
      <Badge tone="calm">open</Badge> until <Time ms={expiresAtMs} dayOnly />
    </>
  );
}
