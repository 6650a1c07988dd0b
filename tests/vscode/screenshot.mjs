// Makes the pictures of docs/ and of the extension's own pages: the packaged extension over examples/models.
import { join } from "node:path";
import { startBed } from "./bed.mjs";
import { GraphPage } from "./graph_page.mjs";
import { CLIENT, DOCS } from "./paths.mjs";
import { until } from "./until.mjs";
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

const IMAGES = join(CLIENT, "images");

async function picture(...paths) {
  await bed.page.waitForTimeout(1_000); // a hover fades in
  for (const path of paths) {
    await bed.page.screenshot({ path });
  }
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
  await picture(join(DOCS, "screenshot.png"), join(IMAGES, "failure.png"));
  await editor.leave();
  await bed.page.keyboard.press("Control+J");
}

async function generatedForward(editor) {
  await editor.openFile("classifier.py");
  await editor.goTo(20, 1);
  await editor.hover("class Classifier", "Classifier", "def forward");
  await picture(join(DOCS, "hover.png"));
}

/** The generated forward and then the graph, beside the source. */
async function views(editor) {
  await editor.leave();
  await editor.goTo(30, 30);
  await editor.command("fx-lsp: Open Generated Forward");
  await until("marks", async () => (await editor.marks()).length > 0, 180_000);
  await picture(join(IMAGES, "forward.png"));
  await editor.closeEditor("forward.py");
  await editor.command("fx-lsp: Show Graph");
  const graph = new GraphPage(bed.page);
  await graph.ready();
  await graph.find("blocks_0_first");
  await picture(join(IMAGES, "graph.png"));
}

try {
  const editor = new Workbench(bed);
  await failure(editor);
  await generatedForward(editor);
  await views(editor);
} finally {
  await bed.stop();
}
