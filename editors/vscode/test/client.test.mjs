// The extension as it is built, with the real language client in it, against the real `zerograd server`.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { editor } = require("./vscode.cjs");
const BUILT = require.resolve("../out/extension.js");
const ZEROGRAD = (process.env.ZEROGRAD ?? "zerograd").split(" ");
const SCRIPT = `import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(8, 2, 4):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
`;

async function running(command, body) {
  const folder = mkdtempSync(join(tmpdir(), "zerograd-"));
  const path = join(folder, "train.py");
  writeFileSync(path, SCRIPT);
  const it = editor(folder, path, command);
  const usual = Module._load;
  Module._load = (name, ...more) => (name === "vscode" ? it.vscode : usual(name, ...more));
  delete require.cache[BUILT];
  const extension = require(BUILT);
  const context = { subscriptions: [] };
  try {
    await extension.activate(context);
    await body(it, extension);
  } finally {
    await extension.deactivate();
    Module._load = usual;
  }
}

async function until(what, found) {
  for (let tries = 0; tries < 600; tries++) {
    const value = found();
    if (value) return value;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`no ${what}`);
}

const findings = (it) => until("finding", () => it.seen.diagnostics.get(it.document.uri.toString()));

test("findings, the page of a rule and fixes reach the editor", async () => {
  await running(ZEROGRAD, async (it) => {
    const [finding] = await findings(it);
    assert.equal(finding.range.start.line, 7);
    assert.equal(finding.code.value ?? finding.code, "ZG001");
    assert.equal(finding.source, "zerograd");
    const none = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
    const hover = await it.seen.providers.hover.provideHover(it.document, finding.range.start, none);
    assert.ok(JSON.stringify(hover).includes("stale-accumulation"));
    const context = { diagnostics: [finding], only: undefined, triggerKind: 1 };
    const actions = await it.seen.providers.codeActions.provideCodeActions(it.document, finding.range, context, none);
    const written = actions.flatMap((action) => action.edit?.edits ?? []).map((edit) => edit.text);
    assert.ok(written.some((text) => text.includes("optimizer.zero_grad()")));
    assert.ok(written.some((text) => text.includes("# zerograd: ignore[ZG001]")));
    assert.deepEqual(it.seen.errors, []);
  });
});

test("restarted, it tells again", async () => {
  await running(ZEROGRAD, async (it) => {
    await findings(it);
    it.seen.diagnostics.clear();
    await it.seen.commands["zerograd.restart"]();
    assert.equal((await findings(it)).length, 1);
  });
});

test("a command that is not there is said, with what to do", async () => {
  await running(["./no/such/zerograd"], async (it) => {
    const error = await until("message", () => it.seen.errors.find((text) => text.startsWith("zerograd: ")));
    assert.match(error, /no\/such\/zerograd server" did not start/);
    assert.match(error, /zerograd\.command/);
  });
});
