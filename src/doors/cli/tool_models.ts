import * as z from "zod";
import { kindByName, SIMULATOR } from "../../settings/catalog/mod.ts";
import type { Config, ProxySettings } from "../../settings/config/mod.ts";
import { configuredUpstreams } from "../../requests/upstreams/mod.ts";
import { askGateway, type Drift, runningGateway } from "./address.ts";
import type { CommandContext } from "./context.ts";
import { servedCatalog } from "./served_catalog.ts";

/** A model as a coding tool has to know it. */
export interface ToolModel {
  readonly id: string;
  readonly contextTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Whether the built-in simulator replies for it. */
  readonly isSimulated: boolean;
}

/** The models that a tool is set up with, none of them for embeddings. */
export interface ToolModels {
  /** All, in the order they are listed. */
  readonly all: readonly ToolModel[];
  /** For the work itself. Undefined if no model is served. */
  readonly main?: ToolModel | undefined;
  /** For side calls such as titles. */
  readonly small?: ToolModel | undefined;
}

/** Names of models that rank, hear or draw. */
const NOT_FOR_CHAT = /rerank|whisper|tts|diffusion/i;

const list = z.object({
  data: z.array(z.object({
    id: z.string(),
    max_input_tokens: z.int().optional(),
    max_tokens: z.int().optional(),
    kind: z.string().optional(),
    simulated: z.boolean().optional(),
  })),
});

/**
 * Lists the models of a gateway.
 *
 * @param url Base address of the gateway that runs, whose settings may differ from the ones read here. Undefined, or a
 *   gateway that does not tell: as the settings say, and what their upstreams list.
 */
export async function toolModels(
  context: CommandContext,
  config: Config,
  url: string | undefined,
): Promise<ToolModels> {
  const listed = url === undefined ? undefined : await modelsAt(url, config.settings.proxies);
  return chosenModels(listed ?? await configured(context, config));
}

/** Which models of a gateway a tool is set up with. */
export function chosenModels(all: readonly ToolModel[]): ToolModels {
  const named = (id: string) => all.find((model) => model.id === id);
  const main = named("svc-k3") ?? all.find(({ id }) => !NOT_FOR_CHAT.test(id)) ?? all[0];
  return { all, main, small: named("svc-k2") ?? main };
}

/** The models that a gateway lists; `undefined` if it does not tell. */
export async function modelsAt(
  url: string,
  proxies: ProxySettings,
): Promise<readonly ToolModel[] | undefined> {
  try {
    const { text } = await askGateway(`${url}/v1/models`, { proxies });
    return list.parse(JSON.parse(text)).data.filter(isForReplies).map((model) => ({
      id: model.id,
      contextTokens: model.max_input_tokens,
      maxOutputTokens: model.max_tokens,
      isSimulated: model.simulated === true,
    }));
  } catch {
    return undefined;
  }
}

async function configured(
  context: CommandContext,
  config: Config,
): Promise<readonly ToolModel[]> {
  const { routes } = await servedCatalog(config, context);
  return routes.filter(isForReplies).map(({ id, maxInput, maxOutput, targets }) => ({
    id,
    contextTokens: maxInput,
    maxOutputTokens: maxOutput,
    isSimulated: targets[0]?.upstream === SIMULATOR,
  }));
}

/** A gateway of an earlier version names no kind: then the name tells. */
function isForReplies({ id, kind = kindByName(id) }: { id: string; kind?: string | undefined }) {
  return kind === "generation";
}

/**
 * Compares who replies: the running gateway has the variables that it was started with, a command those of its shell.
 *
 * @returns How they differ if one has upstreams and the other the simulator; `undefined` if both have the same, or if no
 *   gateway tells.
 */
export async function upstreamDrift({ settings }: Config): Promise<Drift | undefined> {
  const gateway = await runningGateway(settings.data);
  const models = gateway && await modelsAt(gateway.url, settings.proxies);
  if (models === undefined || models.length === 0) return undefined;
  const simulates = models.every(({ isSimulated }) => isSimulated);
  const named = Object.keys(configuredUpstreams(settings));
  if (simulates === (named.length === 0)) return undefined;
  return simulates
    ? {
      text: `the running gateway has no upstream: ${named.join(", ")} is set for this command only`,
      advice: "start the gateway again with the same variables, or write them into a settings file",
    }
    : {
      text:
        "the running gateway has an upstream of its environment, which is not set in this shell",
      advice:
        "set SLUICE_UPSTREAM_URL here as for the gateway, or write the upstream into a settings file: sluice init",
    };
}
