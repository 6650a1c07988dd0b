// Makes the README's pictures in docs/: the packaged extension over examples/models.
import { join } from "node:path";
import { startBed } from "./bed.mjs";
import { DOCS } from "./paths.mjs";
import { Workbench } from "./workbench.mjs";

const bed = await startBed({
  viewport: { width: 1000, height: 680 },
  scale: 1.5,
  settings: {
    "breadcrumbs.enabled": false,
    "editor.fontSize": 14,
    "editor.guides.indentation": false,
    "editor.hover.above": false,
    "editor.lightbulb.enabled": "off",
    "editor.matchBrackets": "never",
    "editor.occurrencesHighlight": "off",
    "editor.padding.top": 6,
    "editor.renderLineHighlight": "none",
    "editor.scrollbar.horizontal": "hidden",
    "window.commandCenter": false,
    "window.menuBarVisibility": "hidden",
    "workbench.activityBar.location": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.layoutControl.enabled": false,
  },
});

async function picture(name) {
  await bed.page.waitForTimeout(1_000); // a hover fades in
  await bed.page.screenshot({ path: join(DOCS, name) });
}

async function failure(editor) {
  await editor.open("rectify.py");
  await editor.underlined(["x.sum() > 0"], 120_000);
  await editor.openFile("encoder.py");
  await editor.openFile("padding.py");
  await editor.underlined(["missing > 0"]);
  await bed.page.keyboard.press("Control+B"); // the side bar goes, its room is for the code
  await bed.page.keyboard.press("Control+Shift+M");
  await bed.page.locator(".markers-panel .monaco-list-row").first().waitFor();
  await editor.focusEditor();
  await editor.hover("if missing > 0", "missing > 0", "fx-lsp");
  await picture("screenshot.png");
  await editor.leave();
  await bed.page.keyboard.press("Control+J");
}

async function generatedForward(editor) {
  await editor.openFile("classifier.py");
  await editor.goTo(20, 1);
  await editor.hover("class Classifier", "Classifier", "def forward");
  await picture("hover.png");
}

try {
  const editor = new Workbench(bed);
  await failure(editor);
  await generatedForward(editor);
} finally {
  await bed.stop();
}
