/** The Helm chart: rendered by Helm, objects that Kubernetes takes and that fit together, and settings that the program takes. */

// so that the package whose declarations are read is there
import "kubernetes-types/package.json" with { type: "json" };
import type { StatefulSet } from "kubernetes-types/apps/v1";
import type { ConfigMap, Service, Volume } from "kubernetes-types/core/v1";
import type { Ingress } from "kubernetes-types/networking/v1";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1";
import ts from "typescript";
import { parse } from "yaml";
import { INTERNAL } from "../../src/doors/http/machine_endpoints.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { OWN_PATHS } from "../../src/settings/config/values.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../assert.ts";
import { canRunHelm, type Helm, helm, type KubernetesObject } from "../fake/helm.ts";
import { tempDir } from "../fake/temp.ts";
import { declarations, packageFolder } from "../wire/formats/fields.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url).pathname;

/** What an object of the operator's has, as far as it has to fit the gateways. */
interface Cluster extends KubernetesObject {
  readonly spec: {
    readonly bootstrap: { readonly initdb: Readonly<Record<string, string>> };
    readonly postgresql: {
      readonly synchronous?: Readonly<Record<string, unknown>>;
      readonly parameters: Readonly<Record<string, string>>;
    };
  };
}

const SCALING = await Deno.readTextFile(new URL("../../docs/scaling.md", import.meta.url));

/** What the chart is rendered with. */
const VALUES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "those of docs/scaling.md": parse(/```yaml\n(# values\.yaml\n.*?)```/s.exec(SCALING)![1]!),
  "one gateway with a file": { replicas: 1 },
  "gateways at a PostgreSQL elsewhere": {
    image: { repository: "registry.example/sluice", tag: "1.2.3" },
    imagePullSecrets: [{ name: "registry" }],
    database: {
      url: "postgres://sluice@db-1.example,db-2.example/sluice?sslmode=verify-full" +
        "&sslrootcert=/etc/sluice/database/ca.crt",
      replicaUrl: "postgres://sluice@db-2.example/sluice",
      password: { secret: "database", key: "password" },
      ca: { secret: "database-ca", key: "ca.crt" },
    },
    settings: {
      limits: { drainMs: 90_000 },
      upstreams: { a: { url: "https://a.example/v1", key: "${A_KEY}" } },
    },
    secrets: { A_KEY: { secret: "upstreams", key: "a" } },
    persistence: { size: "2Gi", storageClass: "fast" },
    serviceAccountName: "sluice",
    podAnnotations: { "example.com/team": "models" },
    nodeSelector: { disk: "ssd" },
    tolerations: [{ key: "models", operator: "Exists", effect: "NoSchedule" }],
  },
  "gateways with a PostgreSQL by CloudNativePG, behind an Ingress": {
    cloudNativePG: { enabled: true, storage: { size: "50Gi", storageClass: "fast" } },
    ingress: {
      enabled: true,
      host: "llm.example.com",
      className: "traefik",
      tlsSecret: "tls",
      annotations: { "example.com/buffering": "off" },
    },
    secrets: { SLUICE_OWNER_KEY: { secret: "sluice", key: "owner" } },
    service: { type: "LoadBalancer", port: 8080, annotations: { "example.com/lb": "internal" } },
  },
};

function test(name: string, work: (chart: Helm) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !canRunHelm,
    fn: async () => {
      await using chart = await helm(`${DEPLOY}helm`);
      await work(chart);
    },
  });
}

/** Modules of declarations by groups of Kubernetes' API. */
const MODULES: Readonly<Record<string, string>> = {
  v1: "core/v1",
  "apps/v1": "apps/v1",
  "networking.k8s.io/v1": "networking/v1",
  "policy/v1": "policy/v1",
};

/** What Kubernetes' declarations have against objects: fields that are unknown, missing, or of another type. */
async function faultsOf(objects: readonly KubernetesObject[]): Promise<string[]> {
  const folder = await packageFolder("kubernetes-types");
  await using dir = await tempDir();
  const file = `${dir.path}/objects.ts`;
  const lines = objects.map((one, index) => {
    const type = `import("${folder}/${MODULES[one.apiVersion]}").${one.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(one)};\n`;
  });
  await Deno.writeTextFile(file, lines.join(""));
  const program = declarations([file], { lib: ["lib.esnext.d.ts"], noEmit: true });
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, "\n")
  );
}

/** What is rendered, by kind; a kind that there is several times has its last one. */
function byKind(objects: readonly KubernetesObject[]) {
  const of = <T>(kind: string) => objects.filter((one) => one.kind === kind) as unknown as T[];
  const [gateways] = of<StatefulSet>("StatefulSet");
  const pod = gateways!.spec!.template;
  return {
    gateways: gateways!,
    pod,
    container: pod.spec!.containers[0]!,
    settings: of<ConfigMap>("ConfigMap")[0]!,
    services: of<Service>("Service"),
    budget: of<PodDisruptionBudget>("PodDisruptionBudget")[0]!,
    ingress: of<Ingress>("Ingress")[0],
    cluster: of<Cluster>("Cluster")[0],
  };
}

/** Keys of secrets that a volume has, as paths in it. */
function pathsOf({ secret, projected }: Volume): string[] {
  const all = [secret, ...projected?.sources?.map((one) => one.secret) ?? []];
  return all.flatMap((one) => one?.items?.map(({ path }) => path) ?? []);
}

test("Helm has nothing against the chart, and Kubernetes nothing against its objects", async (chart) => {
  assertMatch(await chart.lint(), /1 chart\(s\) linted, 0 chart\(s\) failed/);
  const rendered = await Promise.all(Object.values(VALUES).map((values) => chart.render(values)));
  const own = rendered.flat().filter(({ kind }) => kind !== "Cluster");
  assertEquals(own.length, 6 + 5 + 5 + 6);
  assertEquals(await faultsOf(own), []);
  // and it would see a field that there is not, and a type that is wrong
  const [wrong] = structuredClone(
    own.filter(({ kind }) => kind === "StatefulSet"),
  ) as StatefulSet[];
  Object.assign(wrong!.spec!.template.spec!.containers[0]!, { readOnlyRootFileSystem: true });
  Object.assign(wrong!.spec!, { replicas: "3" });
  const faults = await faultsOf([wrong as KubernetesObject]);
  assertMatch(faults.join("\n"), /readOnlyRootFileSystem/);
  assertMatch(faults.join("\n"), /'string' is not assignable to type 'number'/);
});

test("objects of the chart fit together, and pods may do no more than the image needs", async (chart) => {
  const dockerfile = await Deno.readTextFile(`${DEPLOY}Dockerfile`);
  const [, user] = /^USER (\d+):\1$/m.exec(dockerfile)!;
  for (const [name, values] of Object.entries(VALUES)) {
    const { gateways, pod, container, settings, services, budget, ingress } = byKind(
      await chart.render(values),
    );
    const labels = pod.metadata!.labels!;
    const selectors = [
      gateways.spec!.selector.matchLabels!,
      budget.spec!.selector!.matchLabels!,
      ...services.map(({ spec }) => spec!.selector!),
    ];
    for (const selector of selectors) {
      for (const [key, value] of Object.entries(selector)) assertEquals(labels[key], value, name);
    }
    const ports = container.ports!.map((one) => one.name);
    const probes = [container.startupProbe!, container.readinessProbe!, container.livenessProbe!];
    for (const port of services.flatMap(({ spec }) => spec!.ports!)) {
      assert(ports.includes(String(port.targetPort)), name);
    }
    for (const { httpGet } of probes) assert(ports.includes(String(httpGet!.port)), name);
    assertEquals(probes.map(({ httpGet }) => httpGet!.path), ["/readyz", "/healthz", "/healthz"]);
    assert(services.some(({ metadata }) => metadata!.name === gateways.spec!.serviceName));

    const volumes = pod.spec!.volumes!;
    const mounted = container.volumeMounts!.map((one) => one.name);
    const claimed = gateways.spec!.volumeClaimTemplates!.map(({ metadata }) => metadata!.name!);
    assertEquals(mounted.toSorted(), [...claimed, ...volumes.map((one) => one.name)].toSorted());
    assertEquals(
      container.volumeMounts!.filter(({ readOnly }) => !readOnly).map((one) => one.mountPath),
      ["/data", "/tmp"],
    );
    assert(volumes.some(({ configMap }) => configMap?.name === settings.metadata!.name));

    const { securityContext } = pod.spec!;
    assertEquals(
      [securityContext!.runAsNonRoot, securityContext!.runAsUser, securityContext!.fsGroup],
      [true, Number(user), Number(user)],
    );
    assertEquals(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    if (ingress === undefined) continue;
    const [{ host, http }] = ingress.spec!.rules as [{ host: string; http: { paths: unknown[] } }];
    const paths = http.paths as { path: string; backend: { service: { name: string } } }[];
    assertEquals(host, "llm.example.com");
    assertEquals(
      paths.map(({ path }) => path).toSorted(),
      ["/", ...OWN_PATHS.map((path) => `/${path}`)].filter((path) => !INTERNAL.includes(path))
        .toSorted(),
    );
    const behind = services.find(({ spec }) => spec!.clusterIP !== "None")!;
    for (const { backend } of paths) assertEquals(backend.service.name, behind.metadata!.name);
  }
});

test("a gateway of the chart takes its settings, and finds its secrets and its database", async (chart) => {
  for (const [name, values] of Object.entries(VALUES)) {
    const { pod, container, settings, cluster } = byKind(await chart.render(values));
    await using dir = await tempDir();
    // what the pod has at absolute paths is below a directory here
    for (const { name: volume, mountPath } of container.volumeMounts!) {
      await Deno.mkdir(`${dir.path}${mountPath}`, { recursive: true });
      for (
        const path of pathsOf(pod.spec!.volumes!.find((one) => one.name === volume) ?? { name: "" })
      ) {
        const text = path === "SLUICE_OWNER_KEY" ? `sk-${"k".repeat(32)}` : `the value of ${path}`;
        await Deno.writeTextFile(`${dir.path}${mountPath}/${path}`, `${text}\n`);
      }
    }
    const { SLUICE_CONFIG = "", ...env } = Object.fromEntries(
      container.env!.map((one) => [one.name, one.value!]),
    );
    await Deno.writeTextFile(`${dir.path}${SLUICE_CONFIG}`, settings.data!["sluice.jsonc"]!);
    const inDirectory = Object.entries(env).map(([variable, value]) =>
      [variable, /_FILE$/.test(variable) ? `${dir.path}${value}` : value] as const
    );
    const config = await loadConfig({
      env: Object.fromEntries(inDirectory),
      file: `${dir.path}${SLUICE_CONFIG}`,
      directory: dir.path,
    });
    const { database, upstreams, limits, publicUrl, owner } = config.settings;
    assertEquals([name, config.warnings], [name, []]);
    assertEquals(config.settings.data, "/data/sluice");
    assert(config.settings.trustedProxies.length > 0);
    // the pause before it is told to stop, and what it may take from then on
    const [pause, seconds] = container.lifecycle!.preStop!.exec!.command!;
    assertEquals(pause, "sleep");
    const graceMs = pod.spec!.terminationGracePeriodSeconds! * 1_000;
    assert(graceMs >= Number(seconds) * 1_000 + limits.drainMs + 10_000, `${graceMs}`);

    if (database.url === undefined) {
      assertEquals(name, "one gateway with a file");
      continue;
    }
    assertEquals(database.token!.reveal(), "the value of SLUICE_DATABASE_TOKEN");
    const url = new URL(database.url);
    const authority = url.searchParams.get("sslrootcert")!;
    assertEquals((await Deno.stat(`${dir.path}${authority}`)).isFile, true);
    if (cluster === undefined) {
      assertEquals(upstreams.a!.key!.reveal(), "the value of A_KEY");
      assertEquals(database.replicaUrl, "postgres://sluice@db-2.example/sluice");
      continue;
    }
    if ("SLUICE_OWNER_KEY_FILE" in env) {
      assertEquals(owner.key!.reveal(), `sk-${"k".repeat(32)}`);
    } else assertEquals(upstreams.anthropic!.key!.reveal(), "the value of ANTHROPIC_API_KEY");
    assertEquals(publicUrl, "https://llm.example.com");
    const { initdb } = cluster.spec.bootstrap;
    assertEquals(url.hostname, `${cluster.metadata.name}-rw`);
    assertEquals(database.replicaUrl, database.url.replace("-rw/", "-ro/"));
    assertEquals(initdb, {
      database: url.pathname.slice(1),
      owner: url.username,
      encoding: "UTF8",
      localeCollate: "C",
      localeCType: "C",
    });
    assertEquals(cluster.spec.postgresql.synchronous!.dataDurability, "required");
    const secrets = pod.spec!.volumes!.flatMap(({ secret, projected }) => [
      secret?.secretName,
      ...projected?.sources?.map((one) => one.secret?.name) ?? [],
    ]);
    for (const made of ["app", "ca"]) {
      assert(secrets.includes(`${cluster.metadata.name}-${made}`), made);
    }
  }
});

test("values that cannot work are refused", async (chart) => {
  const wrong: [RegExp, Record<string, unknown>][] = [
    [/Several gateways need a shared database/, {}],
    [/replica/, { replica: 1 }],
    [/persistence/, { replicas: 1, persistence: { size: "1 GB" } }],
    [/host/, { replicas: 1, ingress: { enabled: true } }],
    [/database/, { replicas: 1, settings: { database: { url: "file:/tmp/a.db" } } }],
    [/database\.url/, { database: { url: "mysql://a/b" } }],
    [/secrets/, { replicas: 1, secrets: { "A-KEY": { secret: "a", key: "b" } } }],
    [/secrets/, { replicas: 1, secrets: { A_KEY: "sk-in-clear-text" } }],
  ];
  for (const [says, values] of wrong) {
    const { message } = await assertRejects(() => chart.render(values), Error);
    assertMatch(message, says, JSON.stringify(values));
  }
});
