import { type EffectiveSetting, effectiveSettings } from "../../config/mod.ts";
import { Name, Table } from "../components.tsx";
import { dateTime } from "../format.ts";
import { Layout, noticeOf, type PageContext } from "../layout.tsx";
import { type ConsoleParts, type LastReload, page, pageOf } from "../request.tsx";
import { type GuardedApp, may } from "../guard.ts";

/** The settings, and where each came from. */
export function settingsRoutes(app: GuardedApp, { config, reloads }: ConsoleParts): void {
  app.get(
    "/settings",
    may("settings.read", (c) =>
      page(
        c,
        <SettingsPage
          page={pageOf(c)}
          settings={effectiveSettings(config)}
          reload={reloads()}
        />,
      )),
  );
}

/** Settings as they are in effect, secrets masked. */
function SettingsPage(
  { page, settings, reload }: {
    page: PageContext;
    settings: readonly EffectiveSetting[];
    reload: LastReload | undefined;
  },
) {
  const file = fileOf(settings);
  return (
    <Layout page={page} title="Settings" notice={noticeOf(wordsOf(reload))}>
      {file === undefined ? null : (
        <p class="quiet">
          Settings file: <Name text={file} code />
        </p>
      )}
      <Table<EffectiveSetting>
        caption="Settings as they are in effect"
        rows={settings}
        empty=""
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
  return origin.startsWith("file ") ? <span title={origin}>settings file</span> : <>{origin}</>;
}

/** The settings file, if one sets anything. */
function fileOf(settings: readonly EffectiveSetting[]): string | undefined {
  return settings.find(({ origin }) => origin.startsWith("file "))?.origin.slice("file ".length);
}

/** What an operator should know about the last reload. */
function wordsOf(reload: LastReload | undefined): { error?: string; done?: string } {
  if (reload === undefined) return {};
  const { atMs, fault, needRestart } = reload;
  if (fault !== null) {
    return {
      error: `The settings were not reloaded at ${dateTime(atMs)}; those below stay. ${fault}`,
    };
  }
  const rest = needRestart.length === 0
    ? ""
    : ` A restart is needed to apply: ${needRestart.join(", ")}.`;
  return { done: `Reloaded at ${dateTime(atMs)}.${rest}` };
}
