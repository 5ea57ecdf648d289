import type { Command } from "commander";
import type { Account } from "../accounts/mod.ts";
import { creditsOf } from "../ledger/mod.ts";
import { gatewayAddress } from "./address.ts";
import type { CommandContext } from "./context.ts";
import { table, time } from "./format.ts";
import {
  activeAccount,
  type PlaceOptions,
  print,
  withJson,
  withParts,
  withPlace,
} from "./settings.ts";

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

/** `sluice account …` */
export function accountCommand(program: Command, context: CommandContext): void {
  const account = program.command("account").description("manage accounts");

  withJson(withPlace(
    account.command("create").description("create an account")
      .requiredOption(
        "--email <address>",
        "email address; identifies the account in other commands",
      )
      .option("--name <name>", "display name", "")
      .option("--invite <code>", "invite code of the account that invited this one"),
  )).addHelpText("after", "\nExample:\n  sluice account create --email ada@example.com --name Ada")
    .action((options: Options & { email: string; name: string; invite?: string }) =>
      withParts(context, options, async ({ registration }) => {
        const { email, name, invite: inviteCode } = options;
        print(
          context,
          options,
          plain(await registration.register({ email, name, inviteCode })),
          (made) => `Created ${made.email}. Next: sluice key create --account ${made.email}\n`,
        );
      }, { make: true })
    );

  withJson(withPlace(account.command("list").description("list all accounts")))
    .action((options: Options) =>
      withParts(context, options, async ({ accounts }) => {
        print(context, options, (await accounts.list()).map(plain), (all) => table(all.map(row)));
      })
    );

  withJson(withPlace(
    account.command("show").description("show one account").argument(
      "<email>",
      "email address of the account",
    ),
  )).action((email: string, options: Options) =>
    withParts(context, options, async ({ accounts, keys, database, clock }) => {
      const found = await accounts.get(email);
      const own = await keys.list(found);
      const { balance } = await creditsOf(database, found.id, clock.now());
      const active = own.filter(({ revokedAtMs }) => revokedAtMs === null).length;
      print(
        context,
        options,
        { ...plain(found), credits: balance, keys: own.length, active_keys: active },
        (value) => table([{ ...row(value), credits: value.credits, keys: value.active_keys }]),
      );
    })
  );

  const change = (
    name: "disable" | "enable",
    description: string,
    said: (email: string) => string,
  ) =>
    withJson(withPlace(
      account.command(name).description(description).argument(
        "<email>",
        "email address of the account",
      ),
    )).action((email: string, options: Options) =>
      withParts(context, options, async ({ accounts }) => {
        print(context, options, plain(await accounts[name](email)), (value) => said(value.email));
      })
    );
  change(
    "disable",
    "disable an account: reject its keys, end its sessions and sign-in links",
    (email) => `Disabled ${email}. A running gateway rejects its keys within a second.\n`,
  );
  change(
    "enable",
    "enable a disabled account: accept its keys again",
    (email) => `Enabled ${email}.\n`,
  );
  linkCommand(account, context);
}

function linkCommand(account: Command, context: CommandContext): void {
  withJson(withPlace(
    account.command("link").description(
      "create a one-time link that signs in to the console (valid for one day)",
    )
      .argument("[email]", "account email (default: owner)"),
  )).action((email: string | undefined, options: Options) =>
    withParts(context, options, async (parts, config) => {
      const found = await activeAccount(parts, email);
      const { url } = await gatewayAddress(config);
      const link = `${url}/console/link/${await parts.sessions.makeLink(found)}`;
      print(context, options, { account: found.email, link }, () => `${link}\n`);
    })
  );
}

function plain(account: Account) {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    role: account.role,
    created_at: new Date(account.createdAtMs).toISOString(),
    disabled_at: account.disabledAtMs === null
      ? null
      : new Date(account.disabledAtMs).toISOString(),
  };
}

function row({ email, name, role, created_at, disabled_at, id }: ReturnType<typeof plain>) {
  return {
    email,
    name: name || null,
    role,
    state: disabled_at === null ? "active" : "disabled",
    created: time(Date.parse(created_at)),
    id,
  };
}
