/** The graph views: one panel for each target that was asked for. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { showPlace } from "../places";
import type { Changed, Graph, GraphParams, LensArgument } from "../protocol";
import type { Server } from "../server";
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
  private readonly open = new Map<string, Open>();

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
    const graph = params && (await this.server.request<Graph>("fx/graph", params));
    if (!graph) {
      sayNothingToTrace();
      return;
    }
    const state = { uri: params.textDocument.uri, target: graph.target.key };
    const shown = this.open.get(keyOf(state));
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
    this.open.set(keyOf(state), open);
    panel.onDidDispose(() => {
      this.open.delete(keyOf(state));
      if (open.state.inputs) {
        void this.request({ ...state, inputs: "" }); // the server need not count for them any longer
      }
    });
    panel.webview.onDidReceiveMessage((message: FromPage) => void this.received(open, message));
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
        await this.send(open);
        break;
      case "node":
        await showIfAny(open.graph?.nodes.find(({ name }) => name === message.name)?.source);
        break;
      case "failure":
        await showIfAny(open.graph?.failures[message.index]?.location);
        break;
      case "inputs":
        open.state = { ...open.state, inputs: message.inputs };
        await this.send(open);
        break;
      case "capture":
        open.state = { ...open.state, capture: message.capture };
        await this.send(open);
        break;
      case "save":
        await save(open, message.format, message.text);
    }
  }

  private async refresh({ textDocument, targets }: Changed): Promise<void> {
    for (const open of this.open.values()) {
      if (open.state.uri === textDocument.uri && targets.includes(open.state.target)) {
        await this.send(open);
      }
    }
  }

  private async send(open: Open): Promise<void> {
    const { state } = open;
    const graph = await this.request(state);
    if (graph && state === open.state) {
      open.graph = graph;
      open.panel.title = `Graph of ${graph.target.title}`;
      await open.panel.webview.postMessage({ graph, state: open.state } satisfies ToPage);
    }
  }

  private request({ uri, target, inputs = "", capture = "fx" }: PageState): Promise<Graph | null> {
    const params: GraphParams = { textDocument: { uri }, target, inputs, capture };
    return this.server.request<Graph>("fx/graph", params);
  }
}

function keyOf({ uri, target }: PageState): string {
  return `${uri}\n${target}`;
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
