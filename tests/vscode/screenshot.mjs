// Makes the README's picture, docs/screenshot.png: the packaged extension over examples/models.
import { join } from "node:path";
import { EXAMPLES, startBed } from "./bed.mjs";
import { Workbench } from "./workbench.mjs";

const bed = await startBed({
  viewport: { width: 1000, height: 640 },
  scale: 2,
  settings: {
    "breadcrumbs.enabled": false,
    "editor.fontSize": 15,
    "editor.guides.indentation": false,
    "editor.lightbulb.enabled": "off",
    "editor.matchBrackets": "never",
    "editor.occurrencesHighlight": "off",
    "editor.renderLineHighlight": "none",
    "window.menuBarVisibility": "hidden",
    "window.commandCenter": false,
    "workbench.activityBar.location": "hidden",
    "workbench.layoutControl.enabled": false,
    "workbench.colorTheme": "Default Dark Modern",
  },
});
try {
  const editor = new Workbench(bed);
  await editor.open("rectify.py");
  await editor.underlined(["x.sum() > 0"], 120_000);
  await editor.openFile("classifier.py");
  await editor.hover("class Classifier", "Classifier", "def forward");
  await editor.leave();
  await editor.openFile("padding.py");
  await editor.underlined(["missing > 0"]);
  await bed.page.keyboard.press("Control+Shift+M");
  await bed.page.locator(".markers-panel .monaco-list-row").first().waitFor();
  await editor.focusEditor();
  await editor.hover("if missing > 0", "missing > 0", "fx-lsp");
  await bed.page.screenshot({ path: process.argv[2] ?? join(EXAMPLES, "../../docs/screenshot.png") });
} finally {
  await bed.stop();
}
