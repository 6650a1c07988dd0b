/** The language server's life: start, stop, restart, one at a time. */
import * as readline from "node:readline";
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, State, type LanguageClientOptions } from "vscode-languageclient/node";
import type { Interpreters } from "./interpreter";
import { candidates, firstUsable, OLDEST, type Python } from "./python";
import type { Status } from "./status";

/** The configuration section; as the client's id it is also what `fxLsp.trace.server` belongs to. */
export const SECTION = "fxLsp";

export class Server {
  private client: LanguageClient | undefined;
  /** The end of the last start or stop; the next one waits for it. */
  private turn: Promise<void> = Promise.resolve();

  /**
   * @param launcher path of launch.py, which runs the bundled server
   * @param onStatus hears the server's `fxLsp/status`, and when there is no server to send one
   */
  constructor(
    private readonly launcher: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly interpreters: Interpreters,
    private readonly onStatus: (status: Status) => void,
  ) {}

  /** Starts the server, after stopping the one that runs. */
  restart(): Promise<void> {
    return this.next(async () => {
      await this.end();
      await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.next(() => this.end());
  }

  /** Tells the server that the user selected another interpreter; one that found no Python to run on tries again. */
  async interpreterChanged(): Promise<void> {
    await this.turn;
    if (this.client?.state === State.Running) {
      await this.client.sendNotification("fx/interpreterChanged", { interpreter: await this.selectedInterpreter() });
    } else {
      await this.restart();
    }
  }

  private next(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step).catch((error: unknown) => {
      this.log.error(error instanceof Error ? error : String(error));
      this.onStatus({ phase: "failed", message: error instanceof Error ? error.message : String(error) });
    });
    return this.turn;
  }

  private async begin(): Promise<void> {
    this.onStatus({ phase: "starting" });
    const interpreter = await this.selectedInterpreter();
    const chosen = vscode.workspace.getConfiguration(SECTION).get<Python>("server.python", []);
    const python = await firstUsable(candidates(chosen, interpreter, process.platform), (sentence) => {
      this.log.warn(sentence);
    });
    if (!python) {
      this.onStatus({ phase: "failed", message: "No Python to run the language server." });
      void offerSettings();
      return;
    }
    this.client = this.newClient(python, interpreter);
    await this.client.start();
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.state === State.Running) {
      await client.stop();
    }
  }

  private newClient(python: Python, interpreter: Python): LanguageClient {
    const [command = "", ...args] = python;
    // Isolated (-I): a PYTHONPATH that is meant for the user's programs must not reach the server's imports.
    const client = new LanguageClient(SECTION, "fx-lsp", { command, args: [...args, "-I", this.launcher] }, this.options(interpreter));
    this.log.info(`Starting the server with ${python.join(" ")}`);
    client.onNotification("fxLsp/status", this.onStatus);
    client.onDidChangeState(({ newState }) => {
      void vscode.commands.executeCommand("setContext", "fxLsp.running", newState === State.Running);
      if (newState === State.Stopped) {
        this.onStatus({ phase: "stopped" });
      }
    });
    return client;
  }

  private options(interpreter: Python): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "python" }],
      initializationOptions: { status: true, interpreter },
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      stdioOptions: { stdout: copyLines, stderr: copyLines },
    };
  }

  private selectedInterpreter(): Promise<Python> {
    return this.interpreters.selected(vscode.workspace.workspaceFolders?.[0]?.uri);
  }
}

/** The server's stderr is its log, and where the user's own prints go: no line of it is an error as such. */
function copyLines(stream: NodeJS.ReadableStream, log: vscode.LogOutputChannel): void {
  readline.createInterface({ input: stream }).on("line", (line) => {
    log.info(line);
  });
}

async function offerSettings(): Promise<void> {
  const message = `fx-lsp found no Python ${OLDEST.join(".")} or newer to run its language server.`;
  const answer = await vscode.window.showErrorMessage(message, "Open Settings", "Show Logs");
  if (answer === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "fxLsp.server.python");
  } else if (answer === "Show Logs") {
    await vscode.commands.executeCommand("fxLsp.showLogs");
  }
}
