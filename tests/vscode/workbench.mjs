// VS Code's window, as far as the tests touch it. Keyboard only: a click on an element inside the editor first
// scrolls the editor's own DOM, and its text is gone.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path/posix";
import { LIMIT, until } from "./until.mjs";

const EDITOR = ".editor-instance .monaco-editor";

/**
 * In the page: whether what VS Code has stored about its editors contains a text. VS Code stores it once a minute, or when the
 * window loses the focus.
 */
const IS_STORED = async (text) => {
  window.dispatchEvent(new Event("blur"));
  const done = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  for (const { name } of await indexedDB.databases()) {
    if (name.startsWith("vscode-web-state-db-")) {
      const database = await done(indexedDB.open(name));
      const items = database.transaction("ItemTable").objectStore("ItemTable");
      const editors = await done(items.get("memento/workbench.parts.editor"));
      database.close();
      if (editors?.includes(text)) {
        return true;
      }
    }
  }
  return false;
};

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

  /**
   * Opens a workspace of these folders, and in it `file` of the first one. On a busy machine VS Code sometimes shows a workspace
   * without folders, because it asks for the workspace's file before it can read any. Then the window is loaded again.
   */
  async openFolders(folders, file) {
    const workspace = join(dirname(folders[0]), "several.code-workspace");
    writeFileSync(workspace, JSON.stringify({ folders: folders.map((path) => ({ path })) }));
    const names = new RegExp(folders.map((path) => basename(path)).join(".*"), "s");
    const shown = this.page.locator(".explorer-folders-view", { hasText: names });
    await until("the folders", async () => {
      await this.open(join(folders[0], file), { workspace });
      return comes(shown, 20_000);
    });
  }

  /** Loads the window, with names and values that VS Code takes from an address. */
  async goto(payload, shown = { folder: this.workspace }) {
    const url = new URL(this.address);
    for (const [name, value] of Object.entries({ ...shown, payload: JSON.stringify(payload) })) {
      url.searchParams.set(name, value);
    }
    await this.page.goto(url.href, { waitUntil: "domcontentloaded" });
  }

  /** Loads the window anew once VS Code has stored an editor's state with `text`, so that this editor is restored. */
  async reload(text) {
    await until(`${text} in what VS Code has stored`, () => this.page.evaluate(IS_STORED, text));
    await this.goto([]); // an address without a file to open: the window restores its editors
  }

  /** How the window, which is a remote one, names a file. */
  uri(path) {
    return `vscode-remote://${new URL(this.address).host}${path}`;
  }

  /** Opens another file of the workspace in the same window, and puts the cursor into it. */
  async openFile(file) {
    await this.openTab(file);
    await this.focusEditor();
  }

  /** Opens another file of the workspace in the same window. By its whole path it is found without a search. */
  async openTab(file) {
    const path = resolve(this.workspace, file);
    await this.pick("Control+P", basename(path), path);
    await this.page.locator(".tab.active", { hasText: basename(path) }).waitFor();
  }

  /** Runs a command of the palette. */
  async command(label) {
    await this.pick("F1", label);
  }

  /**
   * Takes the row that has `text` of the list that `key` opens, when what is `typed` has made it the first: Enter on a stale
   * first row takes another. A list that does not come to have it is opened again.
   */
  async pick(key, text, typed = text) {
    const rows = this.page.locator(".quick-input-widget .monaco-list-row");
    const first = this.page.locator(".quick-input-widget .monaco-list-row.focused", { hasText: text });
    await until(`${text} in a list`, async () => {
      await this.page.keyboard.press(key);
      await rows.first().waitFor();
      await this.page.keyboard.type(typed);
      return (await comes(first)) || this.page.keyboard.press("Escape");
    });
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
  marked(expected, limit) {
    return comesToBe("marked", () => this.marks(), expected, limit);
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

  /** Waits until exactly these texts are underlined. VS Code moves a squiggle with its text: `listed` tells what is new. */
  underlined(expected, limit) {
    return comesToBe("underlined", () => this.squiggles(), expected, limit);
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
      return (await comes(card)) || this.leave();
    });
    return normalized(await card.innerText());
  }

  /** Ends a hover. */
  async leave() {
    await this.page.mouse.move(5, 5);
    await this.page.keyboard.press("Escape");
  }

  /** The quick fix at the cursor with `label`. */
  quickFix(label) {
    return this.action(label, () => this.page.keyboard.press("Control+."));
  }

  /** The action with `label` of those for the whole file. */
  sourceAction(label) {
    return this.action(label, () => this.command("Source Action..."));
  }

  /**
   * The action with `label` in the menu that `ask` opens, once it is there: fixes are offered first, or at all, when they are
   * proven, which is tried while nothing is traced. A key pressed within a quarter of a second of a movement of the cursor is
   * lost to the light bulb's own request.
   */
  async action(label, ask) {
    const menu = this.page.locator(".action-widget");
    const none = this.page.locator(".monaco-editor-overlaymessage", { hasText: /^No .*actions/ });
    const entry = menu.locator(".monaco-list-row.action", { hasText: label });
    await until(`the action ${label}`, async () => {
      await ask();
      if ((await comes(menu.or(none).first())) && (await entry.count())) {
        return true;
      }
      await this.page.keyboard.press("Escape");
      await menu.or(none).first().waitFor({ state: "hidden" });
      return false;
    });
    return entry;
  }

  /** Clicks in the middle of an element, without Playwright's scrolling, which Monaco can't bear. */
  async click(element) {
    const { x, y, width, height } = await until("the place of what is clicked", () => element.boundingBox());
    await this.page.mouse.click(x + width / 2, y + height / 2);
  }

  /**
   * Clicks the `index`-th lens with `text` until `opened` is there: VS Code draws the lenses anew when the file has been traced,
   * and a click at that moment is lost. On a busy machine, the first click may be answered late; a second one would have what it
   * opens drawn again, under the test that comes next.
   */
  async clickLens(text, opened, index = 0) {
    const lens = this.page.locator(".codelens-decoration a", { hasText: text }).nth(index);
    await until(`what the lens ${text} opens`, async () => {
      await this.click(lens);
      return comes(opened.first(), 20_000);
    });
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

  /** Waits until what the problems panel lists matches `expected`; the panel is opened for it and closed again. */
  async listed(expected, limit) {
    const panel = this.page.locator(".markers-panel");
    const rows = async () => (await panel.locator(".monaco-list-row").allInnerTexts()).map(normalized).join("\n");
    await this.page.keyboard.press("Control+Shift+M");
    await panel.waitFor();
    try {
      await comesTo("listed", rows, (seen) => expected.test(seen), expected, limit);
    } finally {
      await this.page.keyboard.press("Control+J");
      await panel.waitFor({ state: "hidden" });
    }
  }
}

/** Waits until what `look` sees is right, and says what it saw last where that doesn't come. */
async function comesTo(what, look, isRight, expected, limit = LIMIT) {
  let seen;
  await until(what, async () => isRight((seen = await look())), limit).catch(() => {
    throw new Error(`${what}: ${JSON.stringify(seen)}; expected: ${expected}`);
  });
}

/** Waits until `look` sees exactly these texts. */
function comesToBe(what, look, texts, limit) {
  const expected = JSON.stringify(texts);
  return comesTo(what, look, (seen) => JSON.stringify(seen) === expected, expected, limit);
}

/** Whether an element is to be seen soon. Where it isn't, what was done is done again: it may have come too early. */
function comes(element, timeout = 2_000) {
  return element.waitFor({ timeout }).then(
    () => true,
    () => false,
  );
}

function normalized(text) {
  return text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();
}
