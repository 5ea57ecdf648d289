import { AccountError } from "../../../people/accounts/mod.ts";
import type { Finding } from "../../../ground/finding.ts";
import { checkProvider } from "../../../people/sign_in/mod.ts";
import { providerWays } from "../../../operating/provisioning/mod.ts";
import { type OidcSettings, signInSettings } from "../../../settings/config/mod.ts";
import { Badge, Field, Form, Name, Table } from "../components.tsx";
import { type GuardedApp, may } from "../guard.ts";
import { Layout } from "../layout.tsx";
import { addressOf, type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";

const PATH = "/console/operator/settings/sign-in";

/** What was typed of a provider that is not in the settings. */
interface Typed {
  readonly issuer: string;
  readonly groupsClaim: string;
}

/** Checking providers of the settings, and others before they are. */
export function signInRoutes(app: GuardedApp, { config, now }: ConsoleParts): void {
  // without the setting there is nothing of it
  if (config.settings.signIn === undefined) return;
  const { oidc } = config.settings.signIn;
  app.get("/settings/sign-in", may("settings.read", (c) => setupPage(c, oidc)));
  app.post(
    "/settings/sign-in",
    may("settings.read", async (c) => {
      const { form } = c.var;
      const configured = oidc.find(({ name }) => name === form.text("provider"));
      const typed = { issuer: form.text("issuer"), groupsClaim: form.text("groups_claim") };
      try {
        const settings = configured ?? typedProvider(typed);
        const steps = await checkProvider(settings, {
          ...providerWays(config.settings),
          // the settings trust an issuer's host, wherever it is; a form does not
          isTyped: configured === undefined,
          publicUrl: addressOf(c, config),
          now,
        });
        return await setupPage(c, oidc, { checked: { issuer: settings.issuer, steps }, typed });
      } catch (error) {
        if (!(error instanceof AccountError)) throw error;
        return await setupPage(c, oidc, { typed, error: `${error.message}.` });
      }
    }),
  );
}

/** @throws {AccountError} If it is no address of a provider. */
function typedProvider({ issuer, groupsClaim }: Typed): OidcSettings {
  const settings = signInSettings.safeParse({
    oidc: [{
      name: "name",
      issuer,
      client: "CLIENT-ID",
      secret: "typed",
      ...(groupsClaim !== "" && { groupsClaim, groups: { any: {} } }),
    }],
  });
  const [provider] = settings.data?.oidc ?? [];
  if (provider !== undefined) return provider;
  throw new AccountError("The issuer must be an address with https://, as the provider has it");
}

/** How a provider was found. */
interface Checked {
  readonly issuer: string;
  readonly steps: readonly Finding[];
}

const TONES = { ok: "good", warning: "warn", failed: "bad" } as const;

async function setupPage(
  c: PageRequest,
  providers: readonly OidcSettings[],
  { checked, typed, error }: {
    readonly checked?: Checked;
    readonly typed?: Typed;
    readonly error?: string;
  } = {},
): Promise<Response> {
  const context = pageOf(c, error);
  return await page(
    c,
    <Layout page={context} title="Check a sign-in provider">
      {checked === undefined ? null : <Steps {...checked} />}
      {providers.length === 0 ? null : (
        <Form action={PATH} csrf={context.csrf}>
          <Table<OidcSettings>
            caption="Providers of the settings"
            rows={providers}
            empty=""
            columns={[
              { name: "name", cell: ({ name }) => <Name text={name} /> },
              { name: "issuer", cell: ({ issuer }) => <Name text={issuer} code /> },
              {
                name: "",
                cell: ({ name }) => (
                  <button
                    type="submit"
                    class="plain"
                    name="provider"
                    value={name}
                    aria-label={`Check ${name}`}
                  >
                    Check
                  </button>
                ),
              },
            ]}
          />
        </Form>
      )}
      <h2>Before it is in the settings</h2>
      <Form action={PATH} csrf={context.csrf} class="card narrow">
        <Field
          label="Issuer"
          name="issuer"
          type="url"
          value={typed?.issuer ?? ""}
          required
          hint="The address before /.well-known/openid-configuration. It must be public; one of your own network is checked once it is in the settings."
        />
        <Field
          label="Claim with groups, if you use groups"
          name="groups_claim"
          value={typed?.groupsClaim ?? ""}
          maxlength={200}
          hint="Often groups or roles."
        />
        <button type="submit">Check</button>
      </Form>
    </Layout>,
  );
}

function Steps({ issuer, steps }: Checked) {
  const isWell = steps.every(({ state }) => state !== "failed");
  return (
    <section aria-label="Result">
      <p role="status">
        {isWell ? "People can sign in with " : "Nobody can sign in with "}
        <Name text={issuer} code />
        {isWell ? " as far as this gateway can see." : " before this is fixed."}
      </p>
      <Table<Finding>
        caption="What was checked"
        rows={steps}
        empty=""
        columns={[
          { name: "check", cell: ({ check }) => check },
          {
            name: "state",
            bare: true,
            cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
          },
          {
            name: "found",
            cell: ({ detail, advice }) => (
              <span class="breaks">
                {detail}
                {advice === undefined ? null : <span class="below quiet">{advice}</span>}
              </span>
            ),
          },
        ]}
      />
    </section>
  );
}
