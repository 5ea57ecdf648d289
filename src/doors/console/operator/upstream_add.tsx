import { AccountError, type Session } from "../../../people/accounts/mod.ts";
import {
  checkIsNew,
  type EntryPath,
  type Json,
  previewEntry,
  UPSTREAM_ADD,
} from "../../../operating/operations/mod.ts";
import { OperationError } from "../../../people/operation_log/mod.ts";
import { findKnownProvider, type KnownProvider } from "../../../settings/known_providers/mod.ts";
import { type GuardedApp, may } from "../guard.ts";
import {
  type ConsoleParts,
  type FormFields,
  operate,
  type PageRequest,
  seeOther,
} from "../request.tsx";
import { previewPage } from "./settings_preview.tsx";
import { OTHER_PROVIDER, TEXT_FIELDS, upstreamAddPage } from "./upstream_add_page.tsx";

const PATH = "/console/operator/upstreams";

/** Adding an upstream to the settings file: a form, a preview with what would be written, and the write with a reload. */
export function upstreamAddRoutes(app: GuardedApp, parts: ConsoleParts): void {
  const { config, operations } = parts;
  /** Does something with the upstream of the form; what is wrong with it is shown in the form. */
  const about = (
    work: (
      c: PageRequest,
      session: Session,
      upstream: { readonly name: string; readonly settings: Json },
    ) => Promise<Response>,
  ) =>
    may(UPSTREAM_ADD.action, async (c, session) => {
      try {
        const upstream = upstreamOf(c.var.form);
        await checkIsNew(parts, upstream.name);
        return await work(c, session, upstream);
      } catch (error) {
        if (!(error instanceof AccountError || error instanceof OperationError)) throw error;
        return await upstreamAddPage(c, config, `${error.message.replace(/\.$/, "")}.`);
      }
    });

  const form = may(UPSTREAM_ADD.action, (c) => upstreamAddPage(c, config));
  app.get("/upstreams/add", form);
  app.post("/upstreams/add", form);
  app.post(
    "/upstreams/preview",
    about(async (c, _session, { name, settings }) => {
      const entry: EntryPath = ["upstreams", name];
      const preview = await previewEntry(operations, entry, settings);
      if (preview.kind === "invalid") throw new AccountError(preview.faults);
      return await previewPage(c, parts, {
        entry,
        settings,
        preview,
        title: `Add ${name}`,
        forms: { save: `${PATH}/save`, edit: `${PATH}/add` },
        back: { href: PATH, text: "All upstreams" },
      });
    }),
  );
  app.post(
    "/upstreams/save",
    about(async (c, session, { name: upstream, settings }) => {
      const digest = c.var.form.text("digest");
      await operate(c, parts, session, [UPSTREAM_ADD, { upstream, settings, digest }]);
      return seeOther(c, `${PATH}?done=upstream`);
    }),
  );
}

/**
 * The upstream of a form, as the settings have it.
 *
 * @throws {AccountError} If something is missing or cannot be.
 */
function upstreamOf(form: FormFields): { readonly name: string; readonly settings: Json } {
  const chosen = form.text("provider");
  const provider = chosen === OTHER_PROVIDER ? undefined : findKnownProvider(chosen);
  if (provider === undefined && chosen !== OTHER_PROVIDER) {
    throw new AccountError("Select a provider");
  }
  const name = form.text("name") || provider?.id || "";
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new AccountError(
      "The name must consist of up to 64 letters, digits, dots, hyphens and underscores",
    );
  }
  if (provider === undefined && form.text("url") === "") {
    throw new AccountError("Enter the base URL, or select a known provider");
  }
  const texts = TEXT_FIELDS.map(({ name }) => [name, form.text(name)] as const);
  return {
    name,
    settings: {
      ...(provider === undefined ? {} : { provider: provider.id }),
      ...Object.fromEntries(texts.filter(([, value]) => value !== "")),
      ...keyOf(form, provider),
      ...(form.choice("discover", "which models are served", ["yes", "no"]) === "no"
        ? {}
        : { discover: true }),
    },
  };
}

/** The key by the name of its variable; nothing where that is the provider's own. */
function keyOf(form: FormFields, provider: KnownProvider | undefined): Json {
  const variable = form.text("key");
  if (variable === "" || provider?.keyVariables[0] === variable) return {};
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(variable)) {
    throw new AccountError(
      "Enter the name of the environment variable that has the key, such as OPENAI_API_KEY, and not the key itself",
    );
  }
  return { key: `\${${variable}}` };
}
