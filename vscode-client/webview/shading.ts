/** Which share of what was counted of a model's costs lies in each item of its graph. */
import type { Hierarchy, Item } from "./hierarchy";

export type Cost = "flops" | "bytes";

/** Above each of these shares, the shade is one level darker. */
const STEPS = [0, 0.01, 0.03, 0.1, 0.3];

/** How many levels have a shade; level 0 has none. */
export const LEVELS = STEPS.length;

const NAMES: Record<Cost, string> = { flops: "FLOPs", bytes: "bytes" };

export class Shading {
  /** By the id of an item, how much lies in it; an item where no node was counted is left out. */
  private readonly amounts = new Map<string, number>();
  private readonly total: number;

  constructor(
    { root }: Hierarchy,
    private readonly cost: Cost,
  ) {
    this.total = this.add(root) ?? 0;
  }

  /** Whether there is anything to show: the costs are known, and not all zero. */
  get isKnown(): boolean {
    return this.total > 0;
  }

  /** 0 for an item without costs, or whose costs are not known; else from 1 to `LEVELS`. */
  level({ id }: Item): number {
    const amount = this.amounts.get(id) ?? 0;
    return this.isKnown ? STEPS.filter((step) => amount / this.total > step).length : 0;
  }

  /** `12 %`; `?` for an item that was not counted; none for a node that computes nothing. */
  share(item: Item): string | undefined {
    if (item.kind === "node" && !item.node.op.startsWith("call_")) {
      return undefined;
    }
    const amount = this.amounts.get(item.id);
    return amount === undefined || !this.isKnown ? "?" : percent(amount / this.total);
  }

  /** What screen readers say: `12 % of the FLOPs`; "" for a node that computes nothing. */
  described(item: Item): string {
    const share = this.share(item);
    if (share === undefined) {
      return "";
    }
    return share === "?" ? `${NAMES[this.cost]} not known` : `${share} of the ${NAMES[this.cost]}`;
  }

  /** What each level from 0 on means: `0 %, or not counted (?)`, `up to 1 %`, …, `over 30 %`. */
  get legend(): string[] {
    return [
      "0 %, or not counted (?)",
      ...STEPS.slice(1).map((step) => `up to ${percent(step)}`),
      `over ${percent(STEPS.at(-1) ?? 0)}`,
    ];
  }

  private add(item: Item): number | undefined {
    const amount = item.kind === "node" ? (item.node[this.cost] ?? undefined) : this.sum(item.children);
    if (amount !== undefined) {
      this.amounts.set(item.id, amount);
    }
    return amount;
  }

  private sum(items: Item[]): number | undefined {
    const known = items.map((item) => this.add(item)).filter((amount) => amount !== undefined);
    return known.length > 0 ? known.reduce((one, other) => one + other, 0) : undefined;
  }
}

/** Rounded to whole percents, except for what would be shown as 0 or as 100 without being so. */
function percent(share: number): string {
  const rounded = Math.round(100 * share);
  if (rounded === 0 && share > 0) {
    return "<1 %";
  }
  return rounded === 100 && share < 1 ? ">99 %" : `${String(rounded)} %`;
}
