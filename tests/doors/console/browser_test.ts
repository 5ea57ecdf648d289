import { DIALECT_NAMES } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { inOneBrowser, type Steps } from "../../fake/browser.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { serveByTier } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { heldUpstream } from "../../fake/upstream.ts";
import { PlainBrowser } from "../../fake/visitor.ts";
import { sampled, sized } from "../../tier.ts";

const OWNER = "owner@localhost";
const PASSWORD = "a long enough password";
const SIGN_IN = "/console/sign-in";

async function linkFor({ gateway, url }: TestGateway, email = OWNER): Promise<string> {
  return `${url}/console/link/${await gateway.sessions.makeLink(
    await gateway.accounts.get(email),
  )}`;
}

const STEPS: Record<string, Steps[string]> = {};

/** The form that creates a key. */
const NEW_KEY = "form[action='/console/keys']";

STEPS["first start: link, first key, an answer in the playground, the use of it"] = async (
  pages,
) => {
  await using dir = await tempDir();
  // what a process of its own does at its first start, tests/doors/cli/commands_test.ts has, too
  await using gateway = serveByTier(["--port", "0"], { directory: dir.path });
  const [link] = await gateway.waitFor(/http:\S+\/console\/link\/\w+/);
  const { page, faults } = await pages();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(link);
  await page.getByText("To your first response").waitFor();
  await page.getByRole("link", { name: "Create a key" }).click();
  await page.locator(NEW_KEY).getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  const key = (await page.locator("#new-key code").first().textContent())!;
  assertMatch(key, /^sk-\w{43}$/);
  await page.locator("#new-key [data-copy]").first().click();
  assertEquals(await page.evaluate("navigator.clipboard.readText()"), key);
  const snippet = (await page.locator("#new-key details code").first().textContent())!;
  assertStringIncludes(snippet, key);
  const { stdout } = await new Deno.Command("bash", { args: ["-c", `${snippet} -s`] }).output();
  assertStringIncludes(new TextDecoder().decode(stdout), "You said");

  await page.reload(); // sends the form again
  await page.getByRole("heading", { name: "Create a key" }).waitFor();
  assertEquals(await page.locator("#new-key").count(), 0);
  assertEquals(await page.getByText("laptop", { exact: true }).count(), 1, "no second key");

  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByLabel("Continue the conversation").uncheck();
  const dialects = sampled(DIALECT_NAMES, new Random(testSeed()), 3);
  for (const dialect of dialects) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByLabel("Model").selectOption("svc-k3");
    await page.getByLabel("Prompt").fill("Hello from the playground");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#answer").getByText("Hello from the playground").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    assert((await page.locator("#reasoning").textContent())!.length > 0, "reasoning is shown");
    const events = (await page.locator("#events").textContent())!;
    assertStringIncludes(events, dialect === "messages" ? "event: message_stop" : "data: [DONE]");
    assertStringIncludes((await page.locator("#facts").textContent())!, "x-credits-remaining");
  }
  // a tool call, streamed and whole, an upstream that fails, a picture, and what to paste elsewhere
  for (const dialect of sized(["responses"], ["messages", "responses"])) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByLabel("Offer a tool").check();
    await page.getByLabel("Prompt").fill('[[call get_weather {"city":"Lisbon"}]]');
    for (const isStreamed of [true, false]) {
      await page.getByLabel("Stream").setChecked(isStreamed);
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator("#answer").getByText(/→ get_weather \{"city":\s?"Lisbon"\}/).waitFor();
      await page.getByRole("button", { name: "Send" }).waitFor();
    }
    await page.getByLabel("Offer a tool").uncheck();
    await page.getByLabel("Stream").check();
    await page.getByLabel("Prompt").fill("[[say Hello you]] [[error after 4]]");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#answer").getByText(/upstream|simulated/i).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.getByLabel("Image").setInputFiles(
      new URL("../../requests/images/files/rgb.png", import.meta.url).pathname,
    );
    await page.getByLabel("Prompt").fill("What is this?");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#answer").getByText(/png/i).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    await page.getByLabel("Image").setInputFiles([]);
    const code = await Promise.all(
      ["curl", "sdk", "python"].map((id) => page.locator(`#${id}`).textContent()),
    );
    assertStringIncludes(code[0]!, `/v1/${dialect}`);
    for (const one of code.slice(1)) assertStringIncludes(one!, `client.${dialect}.create(`);
  }

  await page.getByLabel("Dialect").selectOption("embeddings");
  await page.getByText("No model for embeddings is available").waitFor();
  await page.getByRole("button", { name: "Send" }).click(); // the browser asks for a model

  await page.getByRole("link", { name: "Requests" }).click();
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  const sent = String(dialects.length + sized(5, 9));
  assertEquals(String(await rows.count()), sent);
  await rows.first().getByRole("link").click();
  await page.getByRole("heading", { name: "Price" }).waitFor();
  await page.getByText("responses, streamed").waitFor();
  await page.getByRole("link", { name: "Usage" }).click();
  await page.locator("td[data-name=requests]").getByText(sent, { exact: true }).waitFor();
  assertEquals(faults, []);
};

STEPS["the playground says what was charged after prices have changed, and who is signed out so"] =
  async (pages) => {
    await using gateway = await startGateway({ looksInside: true });
    const costing = (minimum: number) =>
      gateway.reload(JSON.stringify({ port: 0, routes: { "svc-k2": { minimum } } }));
    await costing(1);
    const { page } = await pages();
    await page.goto(await linkFor(gateway));
    await page.goto(`${gateway.url}/console/playground`);
    await page.getByLabel("Model").selectOption("svc-k2");
    await costing(40);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#use").getByText("balance 999,960").waitFor();
    assertStringIncludes((await page.locator("#use").textContent())!, " 40 credits ");
    await page.reload();
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#answer").getByText(/^Request failed: could not .*; sign in again$/)
      .waitFor();
  };

STEPS["a conversation in the playground, in one dialect after the other"] = async (pages) => {
  await using gateway = await startGateway();
  const { page, faults } = await pages();
  await page.goto(await linkFor(gateway));
  await page.goto(`${gateway.url}/console/playground`);
  const request = async () =>
    JSON.parse(
      (await page.locator("#request[aria-busy=false]").textContent())!.replace(/^POST \S+\s+/, ""),
    );
  const send = async (prompt: string) => {
    await page.getByLabel("Prompt").fill(prompt);
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("#use").getByText("balance").waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
  };
  await page.getByLabel("Model").selectOption("svc-k3");
  await page.getByLabel("Effort").selectOption("low");
  await page.getByLabel("Temperature").fill("0.5");
  assertEquals((await request()).reasoning_effort, "low");
  assertEquals((await request()).temperature, 0.5);
  await send("[[say First]]");
  assertMatch(
    (await page.locator("#use").textContent())!,
    /^\d+ input tokens · \d+ output tokens · \d+ credits? · balance [\d,]+ · \d+ tokens per second$/,
  );
  assertEquals(await page.locator("#turns li").allTextContents(), ["You[[say First]]"]);

  await page.getByLabel("Dialect").selectOption("messages");
  await page.getByLabel("Offer a tool").check();
  assertEquals((await request()).output_config, { effort: "low" });
  assertEquals((await request()).messages.length, 3, "the conversation goes on in another dialect");
  await send('[[call get_weather {"place":"Lisbon"}]]');
  await page.getByText("Prompt: the tool's result").waitFor();
  for (const dialect of ["chat", "messages", "responses"]) {
    await page.getByLabel("Dialect").selectOption(dialect);
    await page.getByLabel("Prompt").fill("Sunny");
    const { messages, input } = await request();
    const last = (messages ?? input).at(-1);
    assertEquals(
      last.role ?? last.type,
      {
        chat: "tool",
        messages: "user",
        responses: "function_call_output",
      }[dialect],
    );
  }
  await send("Sunny");
  await page.getByLabel("Stream").uncheck();
  await send("[[say Last]]");
  assertMatch((await page.locator("#use").textContent())!, / · \d+ credits? · balance [\d,]+/);
  assertEquals(await page.locator("#turns li").count(), 7);
  assertEquals(await page.locator("#answer").textContent(), "Last");

  // one that fails is no part of it, and does not repeat what was shown
  await page.getByLabel("Prompt").fill("[[fail 400]] [[status 400]] [[error after 0]]");
  await page.getByLabel("Max output tokens").fill("1");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Send" }).waitFor();
  assert(await page.locator("#turns li").count() >= 8);
  await page.getByRole("button", { name: "New conversation" }).click();
  assertEquals(await page.locator("#turns li").count(), 0);
  await page.getByLabel("Prompt").fill("[[stall 600000]]");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  await page.getByLabel("Model").selectOption("svc-k2");
  assertEquals(await page.getByLabel("Effort").isVisible(), false);
  assertEquals(await page.getByLabel("Image").isVisible(), false);
  assertEquals(faults.filter((one) => !one.includes("status of 400")), []);
};

STEPS["embeddings in the playground: their models, the vector, the price"] = async (pages) => {
  await using gateway = await startGateway({
    settings: { routes: { vectors: { kind: "embeddings" } } },
  });
  const { page, faults } = await pages();
  await page.goto(await linkFor(gateway));
  await page.goto(`${gateway.url}/console/playground`);
  const dialect = page.getByLabel("Dialect");
  const models = page.getByLabel("Model");
  await page.getByLabel("Prompt").waitFor();
  await models.selectOption("svc-k3");
  assertEquals(await models.locator("option[value=vectors]").count(), 0);
  await page.getByLabel("Max output tokens").fill("0"); // refused there; of no concern here
  await dialect.selectOption("embeddings");
  assertEquals(await models.locator("option").allTextContents(), ["vectors"]);
  for (const label of ["System", "Image", "Max output tokens", "Stream", "Offer a tool"]) {
    assertEquals(await page.getByLabel(label).isVisible(), false, label);
  }
  assertEquals(await page.getByText("No model for").count(), 0);
  await page.getByLabel("Text").fill("A cat sleeps.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("#answer").getByText("Credits: 1").waitFor();
  const answer = (await page.locator("#answer").textContent())!;
  assertMatch(
    answer,
    /^Dimensions: \d+\nVector: \[(-?[\d.e-]+, ){8}…\]\nInput tokens: \d\nCredits: 1$/,
  );
  const text = async (id: string) => (await page.locator(`#${id}`).textContent())!;
  assertEquals(
    (await text("request")).replace(/\s+/g, " "),
    'POST /v1/embeddings { "model": "vectors", "input": "A cat sleeps." }',
  );
  assertStringIncludes(await text("curl"), "/v1/embeddings");
  for (const id of ["sdk", "python"]) {
    assertStringIncludes(await text(id), "client.embeddings.create(");
  }
  await dialect.selectOption("chat");
  assertEquals(await models.inputValue(), "svc-k3", "the choice is kept");
  assertStringIncludes(await text("request"), '"stream": true');
  assertEquals(faults, []);
};

STEPS["what runs is shown while it runs, without a reload"] = async (pages) => {
  await using upstream = heldUpstream();
  await using gateway = await startGateway({ settings: upstream.settings });
  const { page, faults } = await pages();
  await page.goto(await linkFor(gateway));
  await page.getByRole("link", { name: "Live" }).click();
  await page.getByText("No requests in flight").waitFor();
  const asked = gateway.chat("Hi", { model: "held-model" });
  await page.locator("[data-part] td").getByText("held-model").waitFor();
  upstream.release();
  assertEquals(await statusOf(asked), 200);
  await page.getByText("No requests in flight").waitFor();
  assertEquals(faults, []);
};

STEPS["new requests and what they cost appear by themselves, until it is paused"] = async (
  pages,
) => {
  await using gateway = await startGateway();
  const { page, faults } = await pages();
  await page.goto(await linkFor(gateway));
  await page.goto(`${gateway.url}/console/requests`);
  await page.getByText("No requests in flight.").waitFor(); // the stream is open
  for (const rows of [1, 2]) {
    assertEquals(await statusOf(gateway.chat("Hi")), 200);
    await page.locator(`tbody tr:nth-child(${rows})`).waitFor();
  }
  const ids = await page.evaluate(
    "[...document.querySelectorAll('tbody tr')].map(({ dataset }) => dataset.row)",
  );
  assertEquals(ids, (ids as string[]).toSorted().reverse());
  await page.getByRole("button", { name: "Pause live updates" }).click();
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  await page.waitForTimeout(2_500);
  assertEquals(await page.locator("tbody tr").count(), 2);
  await page.getByRole("button", { name: "Resume live updates" }).click();
  await page.locator("tbody tr:nth-child(3)").waitFor(); // what it missed
  await page.goto(`${gateway.url}/console/`);
  const today = page.locator("[data-part=today]");
  await today.getByText("3 requests").waitFor();
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  await today.getByText("4 requests").waitFor();
  assertEquals(faults, []);
};

STEPS["the first requests lead to older ones, if they are more than a page"] = async (pages) => {
  await using gateway = await startGateway();
  const { page } = await pages();
  await page.goto(await linkFor(gateway));
  await page.goto(`${gateway.url}/console/requests`);
  await page.getByRole("button", { name: "Pause live updates" }).click();
  await Promise.all(Array.from({ length: 40 }, () => statusOf(gateway.chat("Hi"))));
  await page.getByRole("button", { name: "Resume live updates" }).click();
  await page.locator("tbody tr").first().waitFor();
  const shown = await page.locator("tbody tr").count();
  await page.getByRole("link", { name: "Older requests" }).click();
  await page.getByRole("link", { name: "Newest requests" }).waitFor();
  assertEquals(await page.locator("tbody tr").count(), 40 - shown);
};

STEPS["an invitation: registered, and the bonus is there to be seen"] = async (pages) => {
  await using gateway = await startGateway();
  const owner = await pages("somebody");
  await owner.page.goto(await linkFor(gateway));
  await owner.page.getByRole("link", { name: "Credits", exact: true }).click();
  const link = (await owner.page.locator("pre[aria-label='your invite link'] code").textContent())!;
  const guest = await pages("somebody else");
  await guest.page.goto(link);
  await guest.page.getByLabel("Email").fill("ada@example.com");
  await guest.page.getByLabel("Name").fill("Ada");
  await guest.page.getByLabel("Password").fill(PASSWORD);
  await guest.page.getByRole("button", { name: "Register" }).click();
  await guest.page.getByLabel("Email").fill("ada@example.com");
  await guest.page.getByLabel("Password").fill(PASSWORD);
  await guest.page.getByRole("button", { name: "Sign in" }).click();
  await guest.page.locator(".stat").getByText("10", { exact: true }).first().waitFor();
  await owner.page.reload();
  await owner.page.locator(".stat").getByText("1,000,050").first().waitFor();
  await owner.page.getByText("ada@example.com").waitFor();
  assertEquals([...owner.faults, ...guest.faults], []);
};

STEPS["a revoked key is refused; an operator's grant arrives; wrong passwords are bounded"] =
  async (pages) => {
    await using gateway = await startGateway();
    const ada = await customer(gateway, 5);
    const account = await gateway.gateway.accounts.get(ada.email);
    await gateway.gateway.passwords.set(account, PASSWORD);
    const ask = () => statusOf(gateway.chat("Hi", {}, { key: ada.keys[0]! }));
    assertEquals(await ask(), 200);
    const user = await pages("somebody else");
    user.page.once("dialog", (dialog) => dialog.accept());
    await user.page.goto(await linkFor(gateway, ada.email));
    await user.page.getByRole("link", { name: "Keys" }).click();
    await user.page.getByRole("button", { name: "Revoke" }).click();
    await user.page.getByText("1 key revoked or expired").click();
    await user.page.getByText("revoked", { exact: true }).waitFor();
    await until(async () => await ask() === 401, { what: "the end of the key" });

    const owner = await pages("somebody");
    await owner.page.goto(await linkFor(gateway));
    await owner.page.getByRole("link", { name: "Accounts" }).click();
    await owner.page.getByLabel("Email or name").fill(ada.email.slice(0, 8));
    await owner.page.getByRole("button", { name: "Search" }).click();
    await owner.page.getByRole("link", { name: ada.email }).click();
    await owner.page.getByLabel("Credits", { exact: true }).fill("500");
    await owner.page.getByRole("button", { name: "Grant", exact: true }).click();
    await owner.page.getByText("Credits granted.").waitFor();
    await user.page.getByRole("link", { name: "Home" }).click();
    const balance = String(await ada.balance()); // what was asked while the key was still taken is paid
    await user.page.locator(".stat").getByText(balance, { exact: true }).first().waitFor();

    const guesser = await pages("without scripts", { javaScriptEnabled: false });
    const typing = new PlainBrowser(gateway.url);
    for (let round = 0; round < 4; round++) {
      const fields = { email: ada.email, password: `wrong password ${round}` };
      const reply = await typing.post(SIGN_IN, fields, { from: SIGN_IN });
      assertStringIncludes(await reply.text(), "Incorrect email or password");
    }
    for (let round = 4; round < 6; round++) {
      await guesser.page.goto(`${gateway.url}${SIGN_IN}`);
      await guesser.page.getByLabel("Email").fill(ada.email);
      await guesser.page.getByLabel("Password").fill(`wrong password ${round}`);
      await guesser.page.getByRole("button", { name: "Sign in" }).click();
      await guesser.page.getByText(round < 5 ? "Incorrect email or password" : "Too many attempts")
        .waitFor();
    }
    assertEquals([...user.faults, ...owner.faults], []);
  };

STEPS["without scripts: sign-in, keys, usage and credits work"] = async (pages) => {
  await using gateway = await startGateway();
  const account = await gateway.gateway.accounts.get(OWNER);
  await gateway.gateway.passwords.set(account, PASSWORD);
  await statusOf(gateway.chat("Hi"));
  const { page } = await pages("without scripts", { javaScriptEnabled: false });
  await page.goto(`${gateway.url}/`);
  await page.getByLabel("Email").fill(OWNER);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Keys" }).click();
  await page.locator(NEW_KEY).getByLabel("Name").fill("plain");
  await page.getByRole("button", { name: "Create key" }).click();
  assertMatch((await page.locator("#new-key code").first().textContent())!, /^sk-/);
  await page.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("link", { name: "by model" }).click();
  await page.locator("td").getByText("svc-k2").waitFor();
  await page.getByRole("link", { name: "Credits", exact: true }).click();
  await page.locator("td").getByText("Owner's grant").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You have been signed out.").waitFor();
};

/** What a page tries that somebody got a text into; programs for the browser are written as texts. */
const BREAKING_OUT = `(async () => {
  const violations = [];
  addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "globalThis.ran = true";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", '<p style="color:red">x</p>');
  const image = new Image();
  image.src = "http://127.0.0.1:1/picture.png";
  document.body.append(image);
  await fetch("http://127.0.0.1:1/").catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 200));
  return { violations, ran: "ran" in globalThis };
})()`;

STEPS["a page may run no script but ours, and load nothing from elsewhere"] = async (pages) => {
  await using gateway = await startGateway();
  const { page } = await pages();
  await page.goto(await linkFor(gateway));
  const refused = await page.evaluate<{ violations: string[]; ran: boolean }>(BREAKING_OUT);
  assertEquals(refused.ran, false);
  for (const directive of ["script-src-elem", "style-src-attr", "img-src", "connect-src"]) {
    assert(refused.violations.includes(directive), `${directive}: ${refused.violations}`);
  }
};

inOneBrowser("the console in a browser", STEPS);
