/** The search field: what is found is counted and marked, Enter goes from one to the next. */
import type { GraphNode } from "../src/protocol";
import { matches } from "./search";
import { count } from "./scene";

export class SearchBar {
  private nodes: GraphNode[] = [];
  private found: GraphNode[] = [];
  private current = -1;

  /**
   * @param marked hears which nodes are found
   * @param gone hears which of them to go to
   */
  constructor(
    private readonly input: HTMLInputElement,
    private readonly hits: HTMLElement,
    private readonly marked: (nodes: GraphNode[]) => void,
    private readonly gone: (node: GraphNode) => void,
  ) {
    input.addEventListener("input", () => {
      this.search();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        this.go(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        input.value = "";
        this.search();
      }
    });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /** Searches in other nodes from now on; who stands on a hit stays on it while a node of its name is found. */
  show(nodes: GraphNode[]): void {
    const stoodOn = this.found[this.current]?.name;
    this.nodes = nodes;
    this.search();
    this.current = this.found.findIndex((node) => node.name === stoodOn);
    this.say();
  }

  private search(): void {
    this.found = matches(this.nodes, this.input.value);
    this.current = -1;
    this.say();
    this.marked(this.found);
  }

  private go(step: number): void {
    const many = this.found.length;
    if (many > 0) {
      this.current = this.current < 0 && step < 0 ? many - 1 : (this.current + step + many) % many;
    }
    const node = this.found[this.current];
    if (node) {
      this.say();
      this.gone(node);
    }
  }

  private say(): void {
    const many = this.found.length;
    const where = this.current < 0 ? count(many, "hit") : `${String(this.current + 1)} of ${count(many, "hit")}`;
    this.hits.textContent = this.input.value.trim() ? where : "";
  }
}
