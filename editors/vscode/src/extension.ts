// An editor's side of `zerograd server`: starts it, and hands it Python files and notebooks.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { notStarted, serverCommand } from "./command";

let client: LanguageClient | undefined;

const OPTIONS: LanguageClientOptions = {
  documentSelector: [
    { scheme: "file", language: "python" },
    { scheme: "untitled", language: "python" },
    { scheme: "vscode-notebook-cell", language: "python" },
  ],
};

async function start(): Promise<void> {
  const words = vscode.workspace.getConfiguration("zerograd").get<string[]>("command") ?? [];
  const command = serverCommand(words, vscode.workspace.workspaceFolders?.[0]?.uri.fsPath);
  client = new LanguageClient("zerograd", "zerograd", command, OPTIONS);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    void vscode.window.showErrorMessage(notStarted(command, error instanceof Error ? error.message : String(error)));
  }
}

async function stop(): Promise<void> {
  const stopped = client;
  client = undefined;
  await stopped?.stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("zerograd.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("zerograd")) void restart();
    }),
  );
  await start();
}

export const deactivate = stop;
