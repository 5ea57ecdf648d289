import type { PackageSet } from "./packages.ts";

/** One tool's round: it is asked to write a file, and does so by its own tool. */
export interface Round {
  /** Name on the command line. */
  readonly name: string;
  readonly packages: PackageSet;
  /**
   * Program and arguments, as `sluice run --` gets them.
   *
   * @param script Path of the program on the tool's page, if it has one.
   */
  command(prompt: string, script: string): readonly string[];
  /** Page whose program is run, in `docs/clients/`. */
  readonly page?: string;
  /** Whether it prints what the model says at the end; it does unless said otherwise. */
  readonly silent?: true;
}

const node = (prompt: string, script: string) => ["node", script, prompt];

/** Every tool with its default settings, except that nobody is asked for permission. */
export const ROUNDS: readonly Round[] = [
  {
    name: "claude-code",
    packages: "claude",
    command: (prompt) => ["claude", "-p", "--allowedTools", "Write", "--", prompt],
  },
  {
    name: "claude-code-opus",
    packages: "claude",
    command: (
      prompt,
    ) => ["claude", "--model", "opus", "-p", "--allowedTools", "Write", "--", prompt],
  },
  {
    name: "claude-code-haiku",
    packages: "claude",
    command: (
      prompt,
    ) => ["claude", "--model", "haiku", "-p", "--allowedTools", "Write", "--", prompt],
  },
  { name: "opencode", packages: "opencode", command: (prompt) => ["opencode", "run", prompt] },
  { name: "cline", packages: "cline", command: (prompt) => ["cline", prompt] },
  {
    name: "codex",
    packages: "codex",
    command: (prompt) => [
      "codex",
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      prompt,
    ],
  },
  { name: "pi", packages: "pi", command: (prompt) => ["pi", "-p", prompt] },
  { name: "qwen-code", packages: "qwen", command: (prompt) => ["qwen", "--yolo", prompt] },
  { name: "openai-agents", packages: "openaiAgents", page: "openai-agents.md", command: node },
  { name: "ai-sdk", packages: "aiSdk", page: "ai-sdk.md", command: node },
  { name: "langchain", packages: "langchain", page: "langchain.md", command: node },
  { name: "llamaindex", packages: "llamaindex", page: "llamaindex.md", command: node },
  {
    name: "instructor",
    packages: "instructor",
    page: "instructor.md",
    command: node,
    silent: true,
  },
];
