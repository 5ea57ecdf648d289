import { type EffectiveSetting, effectiveSettings } from "../../../settings/config/mod.ts";
import { Field, Name, Table } from "../components.tsx";
import { Layout } from "../layout.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";
import { ReloadNotice } from "./reload_notice.tsx";

/** The settings, and where each came from. */
export function settingsRoutes(app: GuardedApp, parts: ConsoleParts): void {
  app.get("/settings", may("settings.read", (c) => settingsPage(c, parts)));
}

/** Settings as they are in effect, secrets masked. */
async function settingsPage(
  c: PageRequest,
  { config, reloads }: ConsoleParts,
): Promise<Response> {
  const query = (c.req.query("q") ?? "").trim().slice(0, 200);
  const isSet = c.req.query("set") !== undefined;
  const settings = effectiveSettings(config);
  const file = fileOf(settings);
  return await page(
    c,
    <Layout page={pageOf(c)} title="Settings">
      <ReloadNotice reload={reloads()} />
      {file === undefined ? null : (
        <p class="quiet">
          Settings file: <Name text={file} code />
        </p>
      )}
      {config.settings.signIn !== undefined && (
        <p>
          <a href="/console/operator/settings/sign-in">Check a sign-in provider</a>
        </p>
      )}
      <form method="get" action="/console/operator/settings" class="row filters" role="search">
        <Field label="Setting" name="q" type="search" value={query} />
        <label class="check">
          <input type="checkbox" name="set" value="1" checked={isSet} />
          Without defaults
        </label>
        <button type="submit" class="plain">Search</button>
      </form>
      <Table<EffectiveSetting>
        caption="Settings as they are in effect"
        rows={settings.filter(({ path, origin }) =>
          path.toLowerCase().includes(query.toLowerCase()) && !(isSet && origin === "default")
        )}
        empty="No such settings."
        columns={[
          { name: "setting", cell: ({ path }) => <Name text={path} code /> },
          {
            name: "value",
            bare: true,
            cell: ({ value }) => (
              <span class="breaks">
                {typeof value === "object" ? JSON.stringify(value) : String(value)}
              </span>
            ),
          },
          { name: "source", cell: ({ origin }) => <Origin origin={origin} /> },
        ]}
      />
    </Layout>,
  );
}

/** Where a setting came from; the path of the file is the same for all, and long. */
function Origin({ origin }: { origin: string }) {
  return origin.startsWith("file ") ? <span title={origin}>file</span> : <>{origin}</>;
}

/** The settings file, if one sets anything. */
function fileOf(settings: readonly EffectiveSetting[]): string | undefined {
  return settings.find(({ origin }) => origin.startsWith("file "))?.origin.slice("file ".length);
}
