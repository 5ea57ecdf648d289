import { type EffectiveSetting, effectiveSettings } from "../../../settings/config/mod.ts";
import { Field, Name, Table } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, type LastReload, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";
import { ReloadNotice } from "./reload_notice.tsx";

/** The settings, and where each came from. */
export function settingsRoutes(app: GuardedApp, { config, reloads }: ConsoleParts): void {
  app.get(
    "/settings",
    may("settings.read", (c) => {
      const query = (c.req.query("q") ?? "").trim().slice(0, 200);
      const isSet = c.req.query("set") !== undefined;
      const settings = effectiveSettings(config);
      const wanted = query.toLowerCase();
      return page(
        c,
        <SettingsPage
          page={pageOf(c)}
          settings={settings.filter(({ path, origin }) =>
            path.toLowerCase().includes(wanted) && !(isSet && origin === "default")
          )}
          file={fileOf(settings)}
          query={query}
          isSet={isSet}
          hasSignIn={config.settings.signIn !== undefined}
          reload={reloads()}
        />,
      );
    }),
  );
}

/** Settings as they are in effect, secrets masked. */
function SettingsPage(
  { page, settings, file, query, isSet, hasSignIn, reload }: {
    page: PageContext;
    settings: readonly EffectiveSetting[];
    /** Path of the settings file, if it sets anything. */
    file: string | undefined;
    /** Part of the names that are shown. */
    query: string;
    /** Whether only settings that are no defaults are shown. */
    isSet: boolean;
    hasSignIn: boolean;
    reload: LastReload | undefined;
  },
) {
  return (
    <Layout page={page} title="Settings">
      <ReloadNotice reload={reload} />
      {file === undefined ? null : (
        <p class="quiet">
          Settings file: <Name text={file} code />
        </p>
      )}
      {hasSignIn && (
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
        rows={settings}
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
    </Layout>
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
