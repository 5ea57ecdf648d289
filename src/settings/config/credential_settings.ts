import * as z from "zod";
import { Secret } from "./secret.ts";
import { httpUrl, secret, timeLimit } from "./values.ts";

const tokenUrl = httpUrl.optional().describe(
  "Where the token is got, instead of the cloud's usual address: a sovereign cloud, a proxy.",
);

const environment = z.record(z.string().regex(/^[A-Z][A-Z0-9_]*$/), secret).optional().describe(
  "Variables that the usual chain reads. Default: those of the gateway's environment.",
);

/** Variables that the usual chain of a cloud reads, as its own tools document them. */
export const CHAIN_VARIABLES: Readonly<Record<string, readonly string[]>> = {
  aws: [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "HOME",
  ],
  google: ["GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "HOME"],
  azure: [
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_AUTHORITY_HOST",
    "IDENTITY_ENDPOINT",
    "IDENTITY_HEADER",
  ],
};

/** How requests to an upstream prove who sends them, by kind; the contract's §8. */
export const credentialSettings = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("key").describe("An API key, as `upstreams.NAME.key` is."),
    key: secret.describe("The API key."),
  }),
  z.strictObject({
    kind: z.literal("command").describe("A program that prints a token."),
    command: z.array(z.string().min(1)).min(1).transform(([program, ...args]) =>
      [program!, ...args.map((one) => new Secret(one))] as const
    ).describe(
      'The program and its arguments, which are treated as secrets. It prints the token, or `{ "token", "expiresAt" }` with a time in ISO 8601 or seconds since 1970.',
    ),
    ttlMs: timeLimit(
      600_000,
      "How long a token is used where the program does not say it; a new one is got a minute before.",
    ),
    timeoutMs: timeLimit(20_000, "How long the program may take."),
  }),
  z.strictObject({
    kind: z.literal("file").describe("A file with a token, read again when it changes."),
    path: z.string().min(1).describe("Path, relative to the settings file."),
  }),
  z.strictObject({
    kind: z.literal("aws").describe("Requests are signed (SigV4)."),
    region: z.string().regex(/^[a-z0-9-]{1,40}$/, "must be a region such as eu-central-1")
      .optional()
      .describe("Default: the upstream's `region`, or AWS_REGION."),
    service: z.string().regex(/^[a-z0-9-]{1,40}$/, "must be a service such as bedrock").optional()
      .describe("Service that is signed for. Default: bedrock, or what the provider needs."),
    accessKeyId: secret.optional().describe(
      "Access key. Default: the usual chain (environment, web identity, container, instance).",
    ),
    secretAccessKey: secret.optional().describe("Its secret."),
    sessionToken: secret.optional().describe("Its session, if it is a temporary one."),
    environment,
    roleArn: z.string().regex(
      /^arn:[\w-]*:iam::\d*:role\/[\w+=,.@/-]+$/,
      "must be the ARN of a role",
    )
      .optional().describe("Role that is assumed with them."),
    tokenUrl,
  }),
  z.strictObject({
    kind: z.literal("google").describe("An access token of Google Cloud."),
    file: z.string().min(1).optional().describe(
      "Key file of a service account, relative to the settings file. Default: the usual chain (GOOGLE_APPLICATION_CREDENTIALS, " +
        "gcloud's own, the metadata server).",
    ),
    environment,
    tokenUrl,
  }),
  z.strictObject({
    kind: z.literal("azure").describe("A token of Entra ID."),
    tenant: z.string().regex(/^[\w.-]{1,100}$/, "must be a tenant's ID or domain").optional()
      .describe("Default: AZURE_TENANT_ID."),
    client: z.string().regex(/^[\w-]{1,100}$/, "must be an application's ID").optional().describe(
      "Default: AZURE_CLIENT_ID; without one, the managed identity.",
    ),
    secret: secret.optional().describe("Client secret."),
    environment,
    tokenFile: z.string().min(1).optional().describe(
      "File with a federated token, relative to the settings file. Default: AZURE_FEDERATED_TOKEN_FILE.",
    ),
    scope: z.string().regex(/^[\x21-\x7e]{1,200}$/, "must be a scope").optional().describe(
      "Default: the provider's, else https://cognitiveservices.azure.com/.default",
    ),
    tokenUrl,
  }),
  z.strictObject({
    kind: z.literal("forward").describe("The caller's own key, which comes with the request."),
  }),
], {
  error: 'must be an object with a "kind": key, command, file, aws, google, azure or forward',
});
/** Credentials of one upstream, with defaults. */
export type CredentialSettings = z.output<typeof credentialSettings>;
