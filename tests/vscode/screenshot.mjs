// Makes the pictures of docs/ and of the extension's own pages: the packaged extension over examples/models.
import { join } from "node:path";
import { Bed } from "./bed.mjs";
import { GraphPage } from "./graph_page.mjs";
import { CLIENT, DOCS } from "./paths.mjs";
import { PICTURE_SETTINGS } from "./picture_settings.mjs";
import { until } from "./until.mjs";
import { Workbench } from "./workbench.mjs";

const bed = await Bed.start({ scale: 1.5 });
const editor = new Workbench().attach(
  await bed.newWindow({
    viewport: { width: 1000, height: 680 },
    settings: PICTURE_SETTINGS,
  }),
);

const IMAGES = join(CLIENT, "images");

async function picture(...paths) {
  await editor.page.waitForTimeout(1_000); // a hover fades in
  for (const path of paths) {
    await editor.page.screenshot({ path });
  }
}

async function failure() {
  await editor.open("rectify.py");
  await editor.underlined(["x.sum() > 0"]);
  await editor.openFile("encoder.py");
  await editor.openFile("padding.py");
  await editor.underlined(["missing > 0"]);
  await editor.page.keyboard.press("Control+B"); // the side bar goes, its room is for the code
  await editor.page.keyboard.press("Control+Shift+M");
  await editor.page.locator(".markers-panel .monaco-list-row").first().waitFor();
  await editor.focusEditor();
  await editor.hover("if missing > 0", "missing > 0", "fx-lsp");
  await picture(join(DOCS, "screenshot.png"), join(IMAGES, "failure.png"));
  await editor.leave();
  await editor.page.keyboard.press("Control+J");
}

async function generatedForward() {
  await editor.openFile("classifier.py");
  await editor.goTo(20, 1);
  await editor.hover("class Classifier", "Classifier", "def forward");
  await picture(join(DOCS, "hover.png"));
}

/** The generated forward and then the graph, beside the source. */
async function views() {
  await editor.leave();
  await editor.goInto("classifier.py", "self.stem(images)");
  await editor.command("fx-lsp: Open Generated Forward");
  await until("marks", async () => (await editor.marks()).length > 0);
  await picture(join(IMAGES, "forward.png"));
  await editor.closeEditor("forward.py");
  await editor.command("fx-lsp: Show Graph");
  const graph = new GraphPage(editor.page);
  await graph.ready();
  await graph.find("blocks_0_first");
  await picture(join(IMAGES, "graph.png"));
}

try {
  await failure();
  await generatedForward();
  await views();
} finally {
  await bed.stop();
}
