/** The graph views: one panel for each target that was asked for. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { messageOf } from "../errors";
import { showPlace } from "../places";
import type { Changed, Graph, GraphParams, LensArgument } from "../protocol";
import type { Server } from "../server";
import { ask, notFound, openSource } from "../sources";
import { sayNothingToTrace, targetParams } from "../targets";
import type { FromPage, PageState, ToPage } from "./messages";
import { pageHtml } from "./page";

const VIEW_TYPE = "fxLsp.graph";

interface Open {
  panel: vscode.WebviewPanel;
  state: PageState;
  graph: Graph | undefined;
}

export class GraphPanels implements vscode.WebviewPanelSerializer<PageState> {
  private readonly open = new Set<Open>();

  /** @param files the folder of the page's script, style and worker */
  constructor(
    private readonly server: Server,
    private readonly files: vscode.Uri,
  ) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this),
      this.server.onDidChangeTargets((changed) => void this.refresh(changed)),
      {
        dispose: () => {
          this.open.forEach(({ panel }) => {
            panel.dispose();
          });
        },
      },
    );
  }

  /** Shows a target's graph in the column beside. */
  async show(argument?: Partial<LensArgument>): Promise<void> {
    const params = targetParams(argument);
    const graph = params && (await ask<Graph>(this.server, "fx/graph", params));
    if (!graph) {
      sayNothingToTrace();
      return;
    }
    const state = { uri: params.textDocument.uri, target: graph.target.key };
    const shown = [...this.open].find((open) => open.state.uri === state.uri && open.state.target === state.target);
    if (shown) {
      shown.panel.reveal();
      await this.send(shown); // the request above named no input: the server has stopped counting for the one in the field
      return;
    }
    const options = { enableScripts: true, localResourceRoots: [this.files], retainContextWhenHidden: true };
    const title = `Graph of ${graph.target.title}`;
    this.fill(vscode.window.createWebviewPanel(VIEW_TYPE, title, vscode.ViewColumn.Beside, options), state);
  }

  /** A window that starts anew shows what it showed before. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel, state: PageState | undefined): Promise<void> {
    if (state) {
      this.fill(panel, state);
    } else {
      panel.dispose();
    }
    return Promise.resolve();
  }

  private fill(panel: vscode.WebviewPanel, state: PageState): void {
    const open: Open = { panel, state, graph: undefined };
    this.open.add(open);
    panel.onDidDispose(() => {
      this.open.delete(open);
      if (open.state.inputs) {
        void this.request({ ...state, inputs: "" }); // the server need not count for them any longer
      }
    });
    panel.webview.onDidReceiveMessage((message: FromPage) => {
      this.received(open, message).catch((error: unknown) => {
        void vscode.window.showErrorMessage(messageOf(error)); // such as a source or a folder that is gone
      });
    });
    const address = (name: string) => panel.webview.asWebviewUri(vscode.Uri.joinPath(this.files, name)).toString();
    panel.webview.html = pageHtml({
      script: address("graph.js"),
      style: address("page.css"),
      worker: address("elk-worker.min.js"),
      source: panel.webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
    });
  }

  private async received(open: Open, message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.sendOrOpen(open);
        break;
      case "node":
        await showIfAny(open.graph?.nodes.find(({ name }) => name === message.name)?.source);
        break;
      case "failure":
        await showIfAny(open.graph?.failures[message.index]?.location);
        break;
      case "inputs":
        open.state = { ...open.state, inputs: message.inputs };
        await this.sendOrOpen(open);
        break;
      case "capture":
        open.state = { ...open.state, capture: message.capture };
        await this.sendOrOpen(open);
        break;
      case "save":
        await save(open, message.format, message.text);
    }
  }

  private async refresh({ textDocument, targets }: Changed): Promise<void> {
    for (const open of [...this.open]) {
      if (open.state.uri === textDocument.uri && targets.includes(open.state.target)) {
        await this.send(open);
      }
    }
  }

  /** Sends the graph; where there is none since the file is not open, opens that. Then `refresh` sends the graph. */
  private async sendOrOpen(open: Open): Promise<void> {
    const { state } = open;
    if (await this.send(open)) {
      return;
    }
    await this.post(open, { missing: notFound(state.uri), state });
    const problem = await openSource(state.uri);
    if (problem && state === open.state) {
      await this.post(open, { missing: problem, state });
    }
  }

  /** False if the server has no answer. */
  private async send(open: Open): Promise<boolean> {
    const { state } = open;
    const graph = await this.request(state);
    if (graph && state === open.state && this.open.has(open)) {
      open.graph = graph;
      open.panel.title = `Graph of ${graph.target.title}`;
      await this.post(open, { graph, state });
    }
    return graph !== null;
  }

  private async post(open: Open, message: ToPage): Promise<void> {
    if (this.open.has(open)) {
      await open.panel.webview.postMessage(message);
    }
  }

  private request({ uri, target, inputs = "", capture = "fx" }: PageState): Promise<Graph | null> {
    const params: GraphParams = { textDocument: { uri }, target, inputs, capture };
    return this.server.request<Graph>("fx/graph", params);
  }
}

async function showIfAny(location: Graph["failures"][number]["location"] | undefined): Promise<void> {
  if (location) {
    await showPlace(location);
  } else {
    vscode.window.setStatusBarMessage("No expression in the source created this node.", 4_000);
  }
}

async function save({ state, graph }: Open, format: "svg" | "dot", text: string): Promise<void> {
  const name = (graph?.target.title ?? "graph").replace(/[^\p{L}\p{N}_-]+/gu, "-");
  const uri = await vscode.window.showSaveDialog({
    defaultUri: vscode.Uri.joinPath(vscode.Uri.parse(state.uri), "..", `${name}.${format}`),
    filters: format === "svg" ? { "SVG image": ["svg"] } : { "Graphviz graph": ["dot"] },
  });
  if (uri) {
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  }
}
