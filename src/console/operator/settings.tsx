import { type EffectiveSetting, effectiveSettings } from "../../config/mod.ts";
import { Table } from "../components.tsx";
import { Layout, type PageContext } from "../layout.tsx";
import { type ConsoleParts, page, pageOf } from "../request.tsx";
import { type OperatorApp, operatorOnly } from "./operator_only.ts";

/** The settings, and where each came from. */
export function settingsRoutes(app: OperatorApp, { config }: ConsoleParts): void {
  app.get(
    "/settings",
    operatorOnly((c) =>
      page(c, <SettingsPage page={pageOf(c)} settings={effectiveSettings(config)} />)
    ),
  );
}

/** Settings as they are in effect, secrets masked. */
function SettingsPage(
  { page, settings }: { page: PageContext; settings: readonly EffectiveSetting[] },
) {
  return (
    <Layout page={page} title="Settings">
      <Table<EffectiveSetting>
        caption="Settings as they are in effect"
        rows={settings}
        empty=""
        columns={[
          { name: "setting", cell: ({ path }) => <code>{path}</code> },
          {
            name: "value",
            cell: ({ value }) => typeof value === "object" ? JSON.stringify(value) : String(value),
          },
          { name: "source", cell: ({ origin }) => origin },
        ]}
      />
    </Layout>
  );
}
