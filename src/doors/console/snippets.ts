import { claudeName } from "../../settings/catalog/mod.ts";

/**
 * Returns snippets for a first request with curl, SDKs and coding tools.
 *
 * @param address Base URL of the gateway.
 * @param key API key.
 * @param models IDs of models for replies that the key may use. Without any, only what needs no model is left.
 */
export function snippets(
  address: string,
  key: string,
  models: readonly string[],
): readonly { name: string; text: string }[] {
  const served = (id: string) => models.includes(id) ? id : models[0] ?? id;
  const [small, large] = [served("svc-k2"), served("svc-k3")];
  const environment = {
    name: "Environment",
    text: `export OPENAI_BASE_URL=${address}/v1
export OPENAI_API_KEY=${key}
export ANTHROPIC_BASE_URL=${address}
export ANTHROPIC_AUTH_TOKEN=${key}`,
  };
  if (models.length === 0) return [environment];
  return [
    {
      name: "curl",
      text: `curl ${address}/v1/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"${small}","messages":[{"role":"user","content":"Hello"}]}'`,
    },
    {
      name: "Claude Code",
      text: `export ANTHROPIC_BASE_URL=${address}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${claudeName(large)}
claude`,
    },
    {
      name: "Codex",
      text: `export OPENAI_API_KEY=${key}
codex -c model_provider=sluice -c model=${large} \\
  -c 'model_providers.sluice={ name = "Sluice", base_url = "${address}/v1", env_key = "OPENAI_API_KEY", wire_api = "responses" }'`,
    },
    environment,
    {
      name: "OpenAI SDK, TypeScript",
      text: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${address}/v1", apiKey: "${key}" });
const answer = await client.chat.completions.create({
  model: "${small}",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
    },
    {
      name: "OpenAI SDK, TypeScript, responses",
      text: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${address}/v1", apiKey: "${key}" });
const response = await client.responses.create({ model: "${small}", input: "Hello" });
console.log(response.output_text);`,
    },
    {
      name: "OpenAI SDK, Python",
      text: `from openai import OpenAI

client = OpenAI(base_url="${address}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${small}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: "OpenAI SDK, Python, responses",
      text: `from openai import OpenAI

client = OpenAI(base_url="${address}/v1", api_key="${key}")
response = client.responses.create(model="${small}", input="Hello")
print(response.output_text)`,
    },
    {
      name: "Anthropic SDK, TypeScript",
      text: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${address}", authToken: "${key}" });
const answer = await client.messages.create({
  model: "${large}",
  max_tokens: 500,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.content);`,
    },
    {
      name: "Anthropic SDK, Python",
      text: `from anthropic import Anthropic

client = Anthropic(base_url="${address}", auth_token="${key}")
answer = client.messages.create(
    model="${large}",
    max_tokens=500,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content)`,
    },
  ];
}
