// VS Code's window, as far as the tests touch it. Keyboard only: a click on an element inside the editor first
// scrolls the editor's own DOM, and its text is gone.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path/posix";
import { LIMIT, until } from "./until.mjs";

const EDITOR = ".editor-instance .monaco-editor";

export class Workbench {
  /** Takes the page and all else that belongs to a window of the bed. */
  attach(window) {
    return Object.assign(this, window);
  }

  /** What a file of the workspace holds on disk. */
  onDisk(file) {
    return readFileSync(join(this.workspace, file), "utf8");
  }

  get settingsFile() {
    return join(this.workspace, ".vscode/settings.json");
  }

  workspaceSettings() {
    return existsSync(this.settingsFile) ? JSON.parse(readFileSync(this.settingsFile, "utf8") || "{}") : {};
  }

  /** Changes the workspace's settings, as a person would in the file. */
  setWorkspaceSettings(settings) {
    mkdirSync(dirname(this.settingsFile), { recursive: true });
    writeFileSync(this.settingsFile, JSON.stringify(settings));
  }

  /** Opens a folder or a workspace of several, and in it `file`. */
  async open(file, shown = { folder: this.workspace }) {
    await this.page.addInitScript({ path: join(import.meta.dirname, "in_page.js") });
    await this.goto([["openFile", this.uri(resolve(this.workspace, file))]], shown);
    await this.page.locator(`${EDITOR} .view-line`).first().waitFor();
  }

  /** Loads the window, with names and values that VS Code takes from an address. */
  async goto(payload, shown = { folder: this.workspace }) {
    const url = new URL(this.address);
    for (const [name, value] of Object.entries({ ...shown, payload: JSON.stringify(payload) })) {
      url.searchParams.set(name, value);
    }
    await this.page.goto(url.href, { waitUntil: "domcontentloaded" });
  }

  /** How the window, which is a remote one, names a file. */
  uri(path) {
    return `vscode-remote://${new URL(this.address).host}${path}`;
  }

  /** Opens another file of the workspace in the same window. */
  async openFile(name) {
    await this.pick("Control+P", name);
    await this.page.locator(".tab.active", { hasText: name }).waitFor();
    await this.focusEditor();
  }

  /** Runs a command of the palette. */
  async command(label) {
    await this.pick("F1", label);
  }

  /** Types into the list that `key` opens, and takes the row that has `text`: Enter on a stale first row takes another. */
  async pick(key, text) {
    await this.page.keyboard.press(key);
    await this.page.locator(".quick-input-widget .monaco-list-row").first().waitFor();
    await this.page.keyboard.type(text);
    await this.page.locator(".quick-input-widget .monaco-list-row.focused", { hasText: text }).waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Takes the row with `text` of a list that a command has opened. */
  async answer(text) {
    await this.page.locator(".quick-input-widget .monaco-list-row", { hasText: text }).first().waitFor();
    await this.page.keyboard.type(text);
    await this.page.locator(".quick-input-widget .monaco-list-row.focused", { hasText: text }).waitFor();
    await this.page.keyboard.press("Enter");
  }

  /** Answers the dialog that asks for a file. Whenever it has listed a folder it sets its input: the path is given until it stays. */
  async answerPath(path) {
    const dialog = this.page.locator(".quick-input-widget");
    const input = dialog.locator("input[type=text]");
    const row = (name) => dialog.locator(".monaco-list-row", { hasText: name }).first();
    await row("..").waitFor();
    await until("the path", async () => {
      if ((await input.inputValue()) === path) {
        return row(basename(path)).isVisible();
      }
      await input.fill(path);
      return false;
    });
    await this.page.keyboard.press("Enter");
    await dialog.waitFor({ state: "hidden" });
  }

  async focusEditor() {
    await this.page.keyboard.press("Control+1");
    await this.page.waitForFunction((editor) => document.activeElement?.closest(editor), EDITOR);
  }

  /** What the language status of the editor's file says of fx-lsp. */
  async languageStatus() {
    return (await this.openLanguageStatus()).innerText();
  }

  async clickLanguageStatus(label) {
    await (await this.openLanguageStatus()).locator("a", { hasText: label }).first().click();
  }

  async openLanguageStatus() {
    await this.page.mouse.move(5, 5);
    await this.page.locator("#status\\.languageStatus").hover();
    const ours = this.page.locator(".hover-language-status .element", { hasText: "fx-lsp" });
    await ours.waitFor();
    return ours;
  }

  /** Puts the cursor at a line and column, both from 1. */
  async goTo(line, column) {
    await this.page.keyboard.press("Control+G");
    await this.page.locator(".quick-input-widget").waitFor();
    await this.page.keyboard.type(`${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await this.page.locator("#status\\.editor\\.selection", { hasText: `Ln ${line}, Col ${column}` }).waitFor();
    await this.page.waitForFunction((editor) => document.activeElement?.closest(editor), EDITOR);
  }

  /** Puts the cursor into the first `text` of `file`, which is in the editor, as it is on disk. */
  async goInto(file, text) {
    const lines = this.onDisk(file).split("\n");
    const index = lines.findIndex((line) => line.includes(text));
    await this.goTo(index + 1, lines[index].indexOf(text) + 2);
  }

  /** The texts under the red squiggles that can be seen, from the top. */
  squiggles() {
    return this.page.evaluate(() => window.fxLspTest.squiggles());
  }

  /** The texts that the extension has marked and that can be seen, from the top. */
  async marks() {
    return (await this.page.evaluate(() => window.fxLspTest.marked())).map(normalized);
  }

  /** Waits until exactly these texts are marked by the extension, from the top. */
  async marked(expected, limit = LIMIT) {
    let seen = [];
    const same = async () => {
      seen = await this.marks();
      return JSON.stringify(seen) === JSON.stringify(expected);
    };
    await until("marks", same, limit).catch(() => {
      throw new Error(`marked: ${JSON.stringify(seen)}; expected: ${JSON.stringify(expected)}`);
    });
  }

  /** The lens with `text`, once it is there. */
  async lens(text) {
    const found = this.page.locator(".codelens-decoration a", { hasText: text }).first();
    await found.waitFor();
    return found;
  }

  /** The visible line of an editor that contains `text`, once there is one, with what is shown in it. */
  async line(text) {
    const found = this.page.locator(`${EDITOR} .view-line`, { hasText: text }).first();
    await found.waitFor();
    return normalized(await found.innerText());
  }

  /** Closes the editor whose tab has `title`. */
  async closeEditor(title) {
    const tab = this.page.locator(".tab", { hasText: title }).first();
    await tab.click({ button: "middle" });
    await tab.waitFor({ state: "detached" });
  }

  /** Waits until exactly these texts are underlined. */
  async underlined(expected, limit = LIMIT) {
    let seen = [];
    const same = async () => {
      seen = await this.squiggles();
      return JSON.stringify(seen) === JSON.stringify(expected);
    };
    await until("squiggles", same, limit).catch(() => {
      throw new Error(`underlined: ${JSON.stringify(seen)}; expected: ${JSON.stringify(expected)}`);
    });
  }

  /**
   * The hover card at the middle of `text` in the visible line that contains `line`, once the card contains `expected`.
   * A card that is shown does not change when the file has been traced: the pointer has to leave and come back.
   */
  async hover(line, text, expected) {
    const card = this.page.locator(".monaco-hover:not(.hidden)", { hasText: expected }).first();
    await until(`a hover with ${expected}`, async () => {
      const { x, y } = await this.page.evaluate((words) => window.fxLspTest.place(...words), [line, text]);
      await this.page.mouse.move(x, y - 60);
      await this.page.mouse.move(x, y, { steps: 8 });
      return card.waitFor({ timeout: 2_000 }).then(
        () => true,
        () => this.leave(),
      );
    });
    return normalized(await card.innerText());
  }

  /** Ends a hover. */
  async leave() {
    await this.page.mouse.move(5, 5);
    await this.page.keyboard.press("Escape");
  }

  /**
   * The menu of quick fixes at the cursor, once it has an entry with `label`. Pressed within a quarter of a second of
   * a cursor movement, the key is lost to the light bulb's own request, hence the pause and the second try.
   */
  async quickFix(label) {
    const entry = this.page.locator(".action-widget .monaco-list-row.action", { hasText: label });
    for (let attempt = 1; ; attempt++) {
      await this.page.waitForTimeout(500);
      await this.page.keyboard.press("Control+.");
      try {
        await entry.waitFor({ timeout: 5_000 });
        return entry;
      } catch (error) {
        if (attempt === 4) {
          throw error;
        }
        await this.page.keyboard.press("Escape");
      }
    }
  }

  /** The action with `label` of those for the whole file, once it is among them: fixes are offered there when they are proven. */
  async sourceAction(label) {
    const menu = this.page.locator(".action-widget");
    const entry = menu.locator(".monaco-list-row.action", { hasText: label });
    await until(`the action ${label}`, async () => {
      await this.command("Source Action...");
      const none = this.page.locator(".monaco-editor-overlaymessage", { hasText: "No source actions" });
      await menu.or(none).first().waitFor();
      if (await entry.count()) {
        return true;
      }
      await this.page.keyboard.press("Escape");
      await menu.or(none).first().waitFor({ state: "hidden" });
      return false;
    }); // fixes are tried while nothing is traced, which takes long where others want the processors
    return entry;
  }

  /** Clicks in the middle of an element, without Playwright's scrolling, which Monaco can't bear. */
  async click(element) {
    const { x, y, width, height } = await element.boundingBox();
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  /** Saves the file, and waits until the editor says so. */
  async save() {
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.active.dirty").waitFor({ state: "detached" });
  }

  /** Makes the text what is on disk. */
  async revert() {
    await this.command("File: Revert File");
    await this.page.locator(".tab.active.dirty").waitFor({ state: "detached" });
  }

  /** The rows that can be seen of the problems panel, once one has `expected`; the panel is opened for it and closed again. */
  async problems(expected) {
    const panel = this.page.locator(".markers-panel");
    await this.page.keyboard.press("Control+Shift+M");
    await panel.locator(".monaco-list-row", { hasText: expected }).first().waitFor();
    const rows = await panel.locator(".monaco-list-row").allInnerTexts();
    await this.page.keyboard.press("Control+Shift+M");
    await panel.waitFor({ state: "hidden" });
    return rows.map(normalized);
  }
}

function normalized(text) {
  return text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();
}
