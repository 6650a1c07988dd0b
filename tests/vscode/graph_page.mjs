// The graph view's page: a frame in a frame of VS Code's window.
import { until } from "./until.mjs";

export class GraphPage {
  constructor(page) {
    this.page = page;
    this.frame = page.frameLocator("iframe.webview").frameLocator("#active-frame");
    this.tree = this.frame.getByRole("tree");
    this.summary = this.frame.locator("#summary");
    this.search = this.frame.getByRole("searchbox");
    this.hits = this.frame.locator("#hits");
  }

  /** Waits until the graph is laid out; what the line below it says. */
  async ready() {
    let text = "";
    await until("a graph", async () => {
      text = await this.summary.innerText({ timeout: 1_000 }).catch(() => "");
      return /[1-9][\d,]* node/.test(text) && !text.includes("laying out");
    });
    return text;
  }

  /**
   * Waits until the item is selected of which a screen reader says what matches `expected`.
   *
   * @param state - of a box: "true" where it is to be open, "false" where closed
   */
  async selected(expected, state) {
    let seen = "";
    const isSelected = async () => {
      seen = await this.tree.evaluate((tree) => {
        const item = tree.ownerDocument.getElementById(tree.getAttribute("aria-activedescendant"));
        return `${item?.innerText} (${item?.getAttribute("aria-expanded")})`;
      });
      return expected.test(seen) && (state === undefined || seen.endsWith(`(${state})`));
    };
    await until("the item", isSelected).catch(() => {
      throw new Error(`selected: ${seen}; expected: ${expected} ${state ?? ""}`);
    });
  }

  async press(...keys) {
    await this.tree.focus();
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
  }

  /** Searches, and goes to the first hit. */
  async find(text) {
    await this.search.fill(text);
    await this.search.press("Enter");
  }

  /** Clicks in the middle of the drawing: there is what was searched for. */
  async clickMiddle() {
    const { x, y, width, height } = await this.tree.boundingBox();
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  button(name) {
    return this.frame.getByRole("button", { name, exact: true });
  }

  tab(name) {
    return this.frame.getByRole("tab", { name });
  }
}
