// Injected into VS Code's page: where text and squiggles are in the editor.
window.fxLspTest = (() => {
  const plain = (text) => text.replaceAll("\u00a0", " ");
  const EDITORS = ":is(.editor-instance, .notebookOverlay) .monaco-editor";
  const lines = () => [...document.querySelectorAll(`${EDITORS} .view-line`)];

  /** Every character of a line, and its box on the screen. */
  function characters(line) {
    const found = [];
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (let index = 0; index < node.length; index++) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + 1);
        found.push({ text: plain(node.data[index]), box: range.getBoundingClientRect() });
      }
    }
    return found;
  }

  const middle = (box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });

  /** The text of the line at a box's height that is between its two ends. */
  function within(box) {
    const { y } = middle(box);
    const line = lines().find((element) => {
      const { left, right, top, bottom } = element.closest(".monaco-editor").getBoundingClientRect();
      const here = element.getBoundingClientRect();
      return left <= box.left && box.left <= right && top <= y && y <= bottom && here.top <= y && y <= here.bottom;
    });
    const covered = (character) => box.left < middle(character.box).x && middle(character.box).x < box.right;
    return line
      ? characters(line)
          .filter(covered)
          .map(({ text }) => text)
          .join("")
      : "";
  }

  function textsUnder(selector) {
    const boxes = [...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect());
    return boxes.sort((a, b) => a.y - b.y || a.x - b.x).map(within);
  }

  return {
    /** The texts under the squiggles of errors and warnings, from the top. */
    squiggles() {
      return textsUnder(`${EDITORS} :is(.squiggly-error, .squiggly-warning)`);
    },

    /** The texts that an extension has marked, from the left and the top. */
    marked() {
      return textsUnder('.editor-instance .cdr[class*="TextEditorDecorationType"]');
    },

    /** The middle of `text` in the first visible line that contains `context`. */
    place(context, text) {
      const line = lines().find((element) => plain(element.textContent).includes(context));
      const found = characters(line);
      const whole = found.map((character) => character.text).join("");
      const start = whole.indexOf(text, whole.indexOf(context));
      return middle(found[start + Math.floor(text.length / 2)].box);
    },
  };
})();
