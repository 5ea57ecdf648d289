import type { Command } from "commander";
import type { Config } from "../../settings/config/mod.ts";
import {
  configuredUpstreams,
  probeUpstream,
  type TrialResult,
  tryUpstream,
} from "../../requests/upstreams/mod.ts";
import { closestString } from "../../ground/std/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { failed, type Finding, ok, warning } from "../../ground/finding.ts";
import { findingLine } from "./finding.ts";
import { failedText } from "./format.ts";
import { progress } from "./progress.ts";
import { servedCatalog } from "./served_catalog.ts";
import { type PlaceOptions, readSettings } from "./settings.ts";

interface TestOptions extends PlaceOptions {
  readonly name: string;
  readonly model?: string;
}

/** Maximum time for one of the five requests: two minutes in all for what replies at all. */
const PATIENCE_MS = 30_000;

/** `sluice upstream test NAME` */
export function upstreamCommand(program: Command, context: CommandContext): void {
  const upstream = program.command("upstream").description("try an upstream");
  defineCommand<TestOptions>(upstream, context, {
    name: "test",
    description: "send an upstream five small requests, and say what departs from its dialect",
    opens: "place",
    arguments: [argument("<name>", "upstream of the settings")],
    options: [
      option("--model <model>", "the model's name there (default: one that a route or it lists)"),
    ],
    help:
      "\nText and tools, whole and streamed, usage and errors. The requests cost what the provider takes for them." +
      "\nThe exit status is 1 if one of them fails. docs/departures.md says what clients get of each departure." +
      "\n\nExample:\n  sluice upstream test groq --model llama-3.3-70b-versatile",
    async run({ options, print }) {
      const config = await readSettings(context, options);
      const { name } = options;
      const upstreams = configuredUpstreams(config.settings);
      if (!Object.hasOwn(upstreams, name)) throw new UsageError(unknown(name, upstreams));
      const model = options.model ?? await someModel(config, name, context);
      using told = progress(context, "trying");
      const results = await tryUpstream(name, upstreams[name]!, {
        model,
        now: Date.now,
        patienceMs: PATIENCE_MS,
        tell: told.tell,
      });
      told.end();
      print(
        { upstream: name, model, results },
        () =>
          `${model} at ${name}\n` +
          results.map((one) => findingLine(findingOf(one), context.colour, 15)).join(""),
      );
      const faulty = results.filter(({ fault }) => fault !== undefined).length;
      if (faulty > 0) throw new Error(failedText(faulty, "check"));
    },
  });
}

function unknown(name: string, upstreams: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(upstreams);
  if (names.length === 0) {
    return `unknown upstream '${name}': no upstreams in the settings yet; sluice init finds some`;
  }
  return `unknown upstream '${name}'; did you mean ${closestString(name, names)}?`;
}

/** A model of an upstream: of the first route that uses it, else the first that it lists. */
async function someModel(config: Config, name: string, context: CommandContext): Promise<string> {
  const { routes } = await servedCatalog(config, { ...context, ask: false });
  for (const { targets, kind } of routes) {
    const target = targets.find(({ upstream }) => upstream === name);
    if (target !== undefined && kind === "generation") return target.model;
  }
  const settings = configuredUpstreams(config.settings)[name]!;
  const { models } = await probeUpstream(name, settings, {
    now: Date.now,
    patienceMs: PATIENCE_MS,
  });
  const [first] = models;
  if (first !== undefined) return first.id;
  throw new UsageError(`'${name}' lists no models: name one with --model`);
}

function findingOf({ check, fault, detail, departures }: TrialResult): Finding {
  if (fault !== undefined) {
    return failed(check, detail, "requests of this kind do not work with this upstream");
  }
  return departures.length === 0
    ? ok(check, detail)
    : warning(check, detail, `departs: ${departures.join("; ")}`);
}
