/** The extension's entry point: puts its parts together. */
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { findInterpreters } from "./interpreter";
import { SECTION, Server } from "./server";
import { appearance } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("fx-lsp", { log: true });
  const item = vscode.languages.createLanguageStatusItem("fxLsp.status", { language: "python" });
  item.name = "fx-lsp";
  item.command = { command: "fxLsp.showLogs", title: "Show Logs" };

  const interpreters = await findInterpreters((id) => vscode.extensions.getExtension(id));
  const running = new Server(context.asAbsolutePath("launch.py"), log, interpreters, (status) => {
    Object.assign(item, appearance(status));
  });
  server = running;
  context.subscriptions.push(
    log,
    item,
    registerCommands(running, log),
    interpreters.onDidChange(() => void running.interpretersChanged()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void running.interpretersChanged()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.server`)) {
        void running.restart();
      }
    }),
  );
  await running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
