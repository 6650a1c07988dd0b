// What has to be seen of a failure, in a window that shows rectify.py. ui.test.mjs runs these checks; mutants.test.mjs
// demands that they notice a server that says something wrong.
import assert from "node:assert/strict";

const BRANCH = "x.sum() > 0";

/** The row of the problems panel for it. */
const place = (line, column) =>
  new RegExp(`depends on the values of an input.* fx-lsp control-flow \\[Ln ${line}, Col ${column}\\]`);

/** By its name each check: a function of the window. It rejects where squiggles are not right within `limit` milliseconds. */
export const CHECKS = {
  "an edit moves the squiggle with the expression, without saving": async (editor, limit) => {
    await editor.goInto("rectify.py", BRANCH);
    await editor.page.keyboard.press("ArrowLeft");
    await editor.page.keyboard.type("'é😋' and ");
    await editor.line("é😋");
    await editor.listed(place(9, 18), limit); // VS Code itself moves the squiggle with the text, but not the problem's place
    await editor.underlined([BRANCH], limit);
    await editor.revert();
  },

  "the failing expression is underlined, and nothing else": async (editor, limit) => {
    await editor.underlined([BRANCH], limit);
  },

  "resting on it shows the reason": async (editor) => {
    const card = await editor.hover(`if ${BRANCH}`, "x.sum()", "fx-lsp");
    assert.match(card, /`?x\.sum\(\) > 0`? depends on the values of an input.*fx-lsp ?control-flow/);
    await editor.leave();
  },

  "the problems panel lists it with its place": (editor, limit) => editor.listed(place(9, 8), limit),
};
