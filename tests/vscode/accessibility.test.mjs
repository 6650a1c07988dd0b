// The graph view for everyone: axe-core, contrast in the four default themes, and pictures of them in docs/.
import axe from "axe-core";
import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { GraphPage } from "./graph_page.mjs";
import { SHOTS } from "./paths.mjs";
import { suite } from "./suite.mjs";
import { until } from "./until.mjs";

suite(
  "accessibility",
  { viewport: { width: 1200, height: 800 }, settings: { "window.autoDetectColorScheme": false } },
  (editor) => {
    const THEMES = {
      dark: "Default Dark Modern",
      "high-contrast-light": "Default High Contrast Light",
      "high-contrast-dark": "Default High Contrast",
      light: "Default Light Modern",
    };
    const pictures = process.env.FX_LSP_PICTURES ?? SHOTS;

    let graph;

    before(async () => {
      graph = new GraphPage(editor.page);
      await editor.open("classifier.py");
      await editor.lens("21 nodes");
      await editor.goTo(20, 1);
      await editor.command("fx-lsp: Show Graph");
      await graph.ready();
    });

    /** The frame of the page itself, which axe-core runs in. */
    async function pageFrame() {
      return (await graph.summary.elementHandle()).ownerFrame();
    }

    const background = () =>
      document.documentElement.style.getPropertyValue("--vscode-editor-background") + document.body.className;

    async function seriousIn(frame) {
      await frame.evaluate(axe.source);
      const { violations } = await frame.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    }

    /** The contrasts of what is drawn, which axe-core can't see. */
    function contrasts(frame) {
      return frame.evaluate(() => {
        const style = getComputedStyle(document.body);
        const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const rgb = (name) => {
          context.fillStyle = style.getPropertyValue("--vscode-editor-background");
          context.fillRect(0, 0, 1, 1);
          context.fillStyle = style.getPropertyValue(`--vscode-${name}`);
          context.fillRect(0, 0, 1, 1);
          return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
        };
        const luminance = (colour) => {
          const [red, green, blue] = colour.map((value) => {
            const part = value / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        const contrast = (one, other) => {
          const [dark, light] = [luminance(rgb(one)), luminance(rgb(other))].sort((a, b) => a - b);
          return (light + 0.05) / (dark + 0.05);
        };
        return {
          names: contrast("editor-foreground", "editorWidget-background"),
          labels: contrast("descriptionForeground", "editor-background"),
          details: contrast("descriptionForeground", "editorWidget-background"),
          selection: contrast("focusBorder", "editor-background"),
          failures: contrast("errorForeground", "editor-background"),
        };
      });
    }

    for (const [name, theme] of Object.entries(THEMES)) {
      test(`axe-core finds nothing serious, and all can be told apart: ${theme}`, async () => {
        const before = await (await pageFrame()).evaluate(background);
        editor.setWorkspaceSettings({ "workbench.colorTheme": theme });
        await until("the theme", async () => (await (await pageFrame()).evaluate(background)) !== before);
        await graph.find("blocks_1_first");
        for (const tab of ["Table", "Execution order", "Graph"]) {
          await graph.tab(tab).click();
          assert.deepEqual(await seriousIn(await pageFrame()), []);
        }
        const shade = graph.frame.getByLabel("Shade");
        await shade.selectOption("FLOPs");
        await graph.frame.locator("#legend").getByText("Share of the counted FLOPs").waitFor();
        assert.deepEqual(await seriousIn(await pageFrame()), []);
        await shade.selectOption("none");
        const seen = await contrasts(await pageFrame());
        for (const text of ["names", "labels", "details"]) {
          assert.ok(seen[text] >= 4.5, `${text}: ${seen[text]}`);
        }
        for (const border of ["selection", "failures"]) {
          assert.ok(seen[border] >= 3, `${border}: ${seen[border]}`);
        }
        await editor.page.screenshot({ path: join(pictures, `graph-${name}.png`) });
      });
    }
  },
);
