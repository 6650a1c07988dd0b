/** The language server's life: start, stop, restart, one at a time. */
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import * as vscode from "vscode";
import {
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import { messageOf } from "./errors";
import { copyLines } from "./log";
import type { Changed } from "./protocol";
import { candidates, firstUsable, OLDEST, type Python } from "./python";
import type { Selections } from "./selections";
import type { Status } from "./status";

const run = promisify(execFile);

/** The configuration section. */
export const SECTION = "fxLsp";

/** The language client's id. Its setting `trace.server` belongs to it; `fxLsp.trace` is a setting of the server. */
const CLIENT_ID = `${SECTION}.server`;

/** The commands of this extension that the server's lenses call. */
export const LENS_COMMANDS = [
  "fxLsp.openForward",
  "fxLsp.showGraph",
  "fxLsp.showFailures",
  "fxLsp.copyModule",
  "fxLsp.tryCaptures",
] as const;

/** The server's command that traces one document from scratch. */
const TRACE_FILE = "fxLsp.traceFile";

/** The server's command that pauses tracing. */
const PAUSE = "fxLsp.pause";

/** After this the server is killed. */
const STOP_WITHIN_MS = 5_000;

const NOT_RUNNING = "The language server is not running; see the log";

/** What is known before the server says anything, or when it can't. */
const STATUS: Record<State, Status> = {
  [State.Starting]: { phase: "starting", message: "Starting the language server" },
  [State.Running]: { phase: "stopped", message: "Nothing to trace yet" },
  [State.StartFailed]: { phase: "failed", message: NOT_RUNNING },
  [State.Stopped]: { phase: "failed", message: NOT_RUNNING },
};

export class Server {
  private client: LanguageClient | undefined;
  /** The end of the last start or stop; the next one waits for it. */
  private turn: Promise<void> = Promise.resolve();
  /** The Python that runs the server; empty while none does. */
  python: Python = [];
  /** Whether the user has paused tracing; that outlasts a server. */
  paused = false;
  private readonly changedTargets = new vscode.EventEmitter<Changed>();
  /** The answers to our own requests for these targets may be others than before. */
  readonly onDidChangeTargets = this.changedTargets.event;

  /**
   * @param launcher path of launch.py, which runs the bundled server
   * @param onStatus hears the server's `fxLsp/status`, and when there is no server to send one
   */
  constructor(
    private readonly launcher: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly selections: Selections,
    private readonly onStatus: (status: Status) => void,
  ) {}

  private readonly show = (status: Status): void => {
    this.paused = status.paused ?? this.paused;
    void vscode.commands.executeCommand("setContext", "fxLsp.paused", this.paused);
    this.onStatus(status);
  };

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

  /** What the server answers to a request of its own; null where it has no answer, or there is no server. */
  async request<Result>(method: string, params: unknown): Promise<Result | null> {
    await this.turn;
    if (this.client?.state !== State.Running) {
      return null;
    }
    try {
      return await this.client.sendRequest<Result | null>(method, params);
    } catch (error) {
      this.log.warn(`${method}: ${messageOf(error)}`);
      return null;
    }
  }

  /** Runs one of the command line's commands, and returns what it says. Rejects where there is no Python to run it on. */
  async runCommand(...words: string[]): Promise<string> {
    await this.turn;
    const [command, ...args] = this.python;
    if (command === undefined) {
      throw new Error(NOT_RUNNING);
    }
    return (await run(command, [...args, "-I", this.launcher, ...words])).stdout.trim();
  }

  /** Tells the server which interpreters are selected now; one that found no Python to run on tries again. */
  async interpretersChanged(): Promise<void> {
    await this.turn;
    if (this.client?.state !== State.Running) {
      await this.restart();
    } else if (await this.selections.renew()) {
      await this.tell(this.client, (client) => this.sendSelections(client));
    }
  }

  /** The workspace is trusted from now on: the server that runs is told so, and which interpreters are selected. */
  async trustGranted(): Promise<void> {
    await this.interpretersChanged();
    if (this.client?.state === State.Running) {
      this.show(STATUS[State.Running]);
      await this.tell(this.client, (client) => client.sendNotification("fx/trustGranted"));
    }
  }

  private next(step: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(step).catch((error: unknown) => {
      this.log.error(error instanceof Error ? error : String(error));
      this.show({ phase: "failed", message: NOT_RUNNING });
    });
    return this.turn;
  }

  private async begin(): Promise<void> {
    this.show({ phase: "starting", message: "Looking for a Python to run the language server" });
    await this.selections.renew();
    const chosen = vscode.workspace.getConfiguration(SECTION).get<Python>("server.python", []);
    const python = await firstUsable(candidates(chosen, this.selections.general, process.platform), (sentence) => {
      this.log.warn(sentence);
    });
    if (!python) {
      this.show({ phase: "failed", message: NOT_RUNNING });
      void offerSettings();
      return;
    }
    this.python = python;
    this.client = this.newClient(python);
    await this.client.start();
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.python = [];
    void vscode.commands.executeCommand("setContext", "fxLsp.running", false);
    if (client) {
      await Promise.race([this.stopClient(client), setTimeout(2 * STOP_WITHIN_MS, undefined, { ref: false })]);
    }
  }

  private async stopClient(client: LanguageClient): Promise<void> {
    if (client.state === State.Starting) {
      // On its way back from a death: what starts can't be stopped yet.
      await client.start().catch(() => undefined);
    }
    if (client.state === State.Running) {
      await client.stop(STOP_WITHIN_MS).catch((error: unknown) => {
        this.log.warn(String(error));
      });
    }
  }

  private newClient(python: Python): LanguageClient {
    const [command = "", ...args] = python;
    // Isolated (-I): a PYTHONPATH that is meant for the user's programs must not reach the server's imports. And not
    // in the workspace's folder, where Windows would look for a program first.
    const client: LanguageClient = new LanguageClient(
      CLIENT_ID,
      "fx-lsp",
      { command, args: [...args, "-I", this.launcher], options: { cwd: dirname(this.launcher) } },
      {
        ...this.options(),
        errorHandler: {
          // A server that dies while it is written to is one that can't be written to first: the usual handler would give
          // it up. That the connection is closed comes next, and brings another server.
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => usual.closed(),
        },
      },
    );
    const usual = client.createDefaultErrorHandler();
    this.log.info(`Starting the server with ${python.join(" ")}`);
    client.onNotification("fxLsp/status", this.show);
    client.onNotification("fx/changed", (changed: Changed) => {
      this.changedTargets.fire(changed);
    });
    client.onDidChangeState(({ newState }) => {
      if (client !== this.client) {
        return; // what becomes of one that is being stopped concerns nobody
      }
      void vscode.commands.executeCommand("setContext", "fxLsp.running", newState === State.Running);
      this.show(STATUS[newState]);
      if (newState === State.Running) {
        void this.tell(client, (started) => this.sendState(started));
      }
    });
    return client;
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      // A function: the client calls it again for the server that replaces one that died.
      initializationOptions: () => ({
        status: true,
        trusted: vscode.workspace.isTrusted,
        views: true,
        commands: LENS_COMMANDS,
        interpreter: this.selections.general,
      }),
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      stdioOptions: { stdout: copyLines, stderr: copyLines },
      middleware: {
        // The server's own command, which the client registers, can't know what is being edited.
        executeCommand: (command, args, next): unknown => next(command, command === TRACE_FILE ? editedFile() : args),
      },
    };
  }

  /** Sends a server that has started what its `initializationOptions` can't tell, before it knows its settings and traces. */
  private async sendState(client: LanguageClient): Promise<void> {
    const paused = this.paused && client.sendRequest("workspace/executeCommand", { command: PAUSE });
    await Promise.all([this.sendSelections(client), paused]);
  }

  private async sendSelections(client: LanguageClient): Promise<void> {
    const { all } = this.selections;
    await Promise.all(all.map((selection) => client.sendNotification("fx/interpreterChanged", selection)));
  }

  /** Sends a server a notification. One that dies meanwhile does not need it: the next one gets everything at its start. */
  private async tell(client: LanguageClient, send: (client: LanguageClient) => Promise<void>): Promise<void> {
    try {
      await send(client);
    } catch (error) {
      this.log.warn(messageOf(error));
    }
  }
}

/** The argument of a command about the document that is being edited; none where that is no Python. */
function editedFile(): string[] {
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === "python" ? [document.uri.toString()] : [];
}

async function offerSettings(): Promise<void> {
  const message = `fx-lsp needs Python ${OLDEST.join(".")} or newer to run its language server, but found none.`;
  const answer = await vscode.window.showErrorMessage(message, "Open Settings", "Show Logs");
  if (answer === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "fxLsp.server.python");
  } else if (answer === "Show Logs") {
    await vscode.commands.executeCommand("fxLsp.showLogs");
  }
}
