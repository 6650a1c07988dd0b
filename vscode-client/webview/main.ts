/** The graph's page: shows what the extension sends, and says what a person does with it. */
import ElkConstructor from "elkjs/lib/elk-api";
import type { FromPage, PageState, ToPage } from "../src/graph/messages";
import type { Graph, GraphNode } from "../src/protocol";
import { CaptureSwitch } from "./capture_switch";
import { listen } from "./controls";
import { toDot } from "./dot";
import { GraphView } from "./graph_view";
import { Grid } from "./grid";
import { failureText, hierarchyOf, shownFor, type Hierarchy } from "./hierarchy";
import { InputField } from "./input_field";
import { Legend } from "./legend";
import { count } from "./scene";
import { SearchBar } from "./search_bar";
import { toSvg } from "./svg";
import { NODE_COLUMNS, nodeRows, ORDER_COLUMNS, orderRows, type NodeRow, type OrderRow } from "./tables";
import { connectTabs } from "./tabs";

interface Editor {
  postMessage(message: FromPage): void;
  setState(state: PageState): void;
}
declare function acquireVsCodeApi(): Editor;

const editor = acquireVsCodeApi();
const worker = document.querySelector<HTMLElement>("[data-worker]")?.dataset.worker ?? "";

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) {
    throw new Error(`the page has no ${id}`);
  }
  return found;
}

class Page {
  private graph: Graph | undefined;
  private hierarchy: Hierarchy | undefined;
  private readonly view: GraphView;
  private readonly legend: Legend;
  private readonly table: Grid<NodeRow>;
  private readonly order: Grid<OrderRow>;
  private readonly searchBar: SearchBar;
  private readonly inputField: InputField;
  private readonly captureSwitch = new CaptureSwitch(
    element("capture-label"),
    element("capture") as HTMLSelectElement,
    (capture) => {
      editor.postMessage({ type: "capture", capture });
    },
  );
  private shown = "graph";

  constructor(workerAddress: string) {
    const elk = new ElkConstructor({ workerFactory: () => new Worker(workerAddress) });
    const drawing = element("drawing") as HTMLCanvasElement;
    this.view = new GraphView(drawing, element("tree"), element("detail"), elk, (done) => {
      this.summarize(done);
    });
    listen(this.view, (name) => {
      this.choose(name);
    });
    this.legend = new Legend(
      element("shade") as HTMLSelectElement,
      element("legend"),
      () => this.view.palette,
      (shading) => {
        this.view.shade(shading);
      },
    );
    this.table = new Grid(
      element("table-grid"),
      "Nodes in the order of execution",
      NODE_COLUMNS,
      ({ node }) => {
        this.choose(node.name);
      },
      ({ failures }) => failures !== "",
    );
    this.order = new Grid(
      element("order-grid"),
      "Modules and parameters in the order of their first use",
      ORDER_COLUMNS,
      (call) => {
        this.toFirstNode(call.path);
      },
    );
    this.searchBar = new SearchBar(
      element("search") as HTMLInputElement,
      element("hits"),
      (nodes) => {
        this.mark(nodes);
      },
      (node) => {
        this.reveal(node);
      },
    );
    this.inputField = new InputField(
      element("input-label"),
      element("input") as HTMLInputElement,
      element("input-status"),
      (inputs) => {
        editor.postMessage({ type: "inputs", inputs });
      },
    );
    this.connect();
  }

  /** Says why there is no graph, or none for what a person has chosen last; the one that is shown stays. */
  miss(reason: string): void {
    element("missing").textContent = reason;
    element("missing").hidden = false;
  }

  async show(graph: Graph, { inputs = "" }: PageState): Promise<void> {
    element("missing").hidden = true;
    const isAnother = this.graph?.target.key !== graph.target.key || this.graph.capture !== graph.capture;
    const anew = isAnother || this.graph?.nodes.length === 0;
    this.graph = graph;
    this.hierarchy = hierarchyOf(graph);
    element("title").textContent = `Graph of ${graph.target.title}`;
    this.showFailures(graph);
    this.captureSwitch.show(graph);
    this.inputField.show(graph, inputs);
    this.table.show(nodeRows(graph, this.hierarchy));
    this.order.show(orderRows(graph));
    this.legend.show(this.hierarchy);
    await this.view.show(this.hierarchy, anew);
    this.searchBar.show(graph.nodes);
  }

  private connect(): void {
    const buttons: Record<string, () => unknown> = {
      "open-all": () => this.view.openAll(),
      "close-all": () => this.view.closeAll(),
      fit: () => {
        this.view.fit();
      },
      svg: () => {
        this.save("svg");
      },
      dot: () => {
        this.save("dot");
      },
    };
    for (const [id, act] of Object.entries(buttons)) {
      element(`${id}-button`).addEventListener("click", () => void act());
    }
    connectTabs(element("graph-tab").parentElement ?? document.body, (id) => {
      this.shown = id;
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLInputElement;
      if ((event.key === "/" && !typing) || (event.key === "f" && (event.ctrlKey || event.metaKey))) {
        event.preventDefault();
        this.searchBar.focus();
      }
    });
    // VS Code says the theme in the page's own style and classes.
    new MutationObserver(() => {
      this.view.recolour();
      this.legend.draw();
    }).observe(document.documentElement, { attributes: true, subtree: true, attributeFilter: ["class", "style"] });
  }

  private mark(nodes: GraphNode[]): void {
    const { hierarchy } = this;
    const leaves = nodes.flatMap(({ name }) => hierarchy?.leaves.get(name) ?? []);
    const open = { has: (id: string) => this.view.isOpen(id) } as ReadonlySet<string>;
    this.view.mark(new Set(leaves.flatMap((leaf) => [leaf.id, shownFor(leaf, open).id])));
  }

  private reveal(node: GraphNode): void {
    if (this.shown === "table") {
      this.table.reveal((row) => row.node === node);
    } else {
      void this.view.reveal(node.name);
    }
  }

  /** To what fails at a node, or to its source. */
  private choose(name: string): void {
    const failure = this.hierarchy?.leaves.get(name)?.failures[0];
    editor.postMessage(failure ? { type: "failure", index: failure.index } : { type: "node", name });
  }

  /** To the source of the first node that a module's call made, or that calls it. */
  private toFirstNode(path: string): void {
    const node = this.graph?.nodes.find(
      ({ scope, target, op }) =>
        scope === path || scope.startsWith(`${path}.`) || (op === "call_module" && target === path),
    );
    if (node) {
      editor.postMessage({ type: "node", name: node.name });
    }
  }

  private save(format: "svg" | "dot"): void {
    if (this.hierarchy && this.graph) {
      const { title } = this.graph.target;
      const { scene, palette, shading } = this.view;
      const text =
        format === "svg" ? toSvg(scene, palette, `Graph of ${title}`, shading) : toDot(this.hierarchy, title);
      editor.postMessage({ type: "save", format, text });
    }
  }

  private showFailures({ failures, target }: Graph): void {
    const section = element("failures");
    section.hidden = failures.length === 0;
    const heading = document.createElement("h2");
    heading.textContent = target.summary;
    const buttons = failures.map((failure, index) => {
      const button = document.createElement("button");
      button.textContent = `✗ ${failureText(failure)}`;
      button.addEventListener("click", () => {
        editor.postMessage({ type: "failure", index });
      });
      return button;
    });
    section.replaceChildren(heading, ...buttons);
  }

  private summarize(laidOut: boolean): void {
    const { graph } = this;
    if (!graph) {
      return;
    }
    const { nodes, parameters, input, symbols, stale, failures } = graph;
    const sizes = Object.entries(symbols).map(([name, size]) => `${name} = ${String(size)}`);
    const words = [
      count(nodes.length, "node"),
      count(parameters, "number").replace(/number/, "parameter"),
      operations(graph),
      input ? `shapes for ${input}${sizes.length > 0 ? ` (${sizes.join(", ")})` : ""}` : "",
      failures.length > 0 && nodes.length > 0 ? "nodes after a failure are based on an assumption" : "",
      stale ? "from the last version that could be traced" : "",
      laidOut ? "" : "laying out…",
    ];
    element("summary").textContent = words.filter(Boolean).join(" · ");
  }
}

/** How many floating-point operations a call takes; "" where that is not known. */
function operations({ costs }: Graph): string {
  const flops = costs?.modules[0]?.flops ?? null;
  return flops === null ? "" : `${costs?.atLeast ? "at least " : ""}${count(flops, "FLOP")}`;
}

/** A worker's script has to come from the page's own origin: from a blob with the file's text. */
async function start(): Promise<void> {
  const text = await (await fetch(worker)).blob();
  const page = new Page(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    editor.setState(data.state);
    if ("missing" in data) {
      page.miss(data.missing);
    } else {
      void page.show(data.graph, data.state);
    }
  });
  editor.postMessage({ type: "ready" });
}

void start();
