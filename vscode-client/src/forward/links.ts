/** Shows in the source what the line at the cursor of a generated forward came from, and the other way around. */
import * as vscode from "vscode";
import type { Forward } from "../protocol";
import { toRange } from "../places";
import { idOf, SCHEME, type ForwardDocuments } from "./documents";

type Line = Forward["lines"][number];

/** The URI of what may be a Python module, or a cell of one. */
const SOURCE = /\.py$|^vscode-notebook-cell:/;

/** How long a source text has to rest before its forward's places are asked for anew. */
const QUIET_MS = 150;

const linked = vscode.window.createTextEditorDecorationType({
  backgroundColor: new vscode.ThemeColor("editor.wordHighlightStrongBackground"),
  border: "1px solid",
  borderColor: new vscode.ThemeColor("editor.wordHighlightStrongBorder"),
  overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.wordHighlightStrongForeground"),
  overviewRulerLane: vscode.OverviewRulerLane.Center,
});

const stale = vscode.window.createTextEditorDecorationType({
  after: {
    contentText: "  from the last version that could be traced",
    color: new vscode.ThemeColor("editorCodeLens.foreground"),
    fontStyle: "italic",
  },
});

export class ForwardLinks {
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly documents: ForwardDocuments) {}

  register(): vscode.Disposable {
    return vscode.Disposable.from(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        this.follow(textEditor, kind !== undefined);
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.textChanged(document);
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.renew();
      }),
      this.documents.onDidChange(() => {
        this.renew(); // the places may have come after the text
      }),
      {
        dispose: () => {
          clearTimeout(this.timer);
        },
      },
    );
  }

  /** Marks in the other editors what belongs to the cursor of this one; `scroll`: and brings it into view. */
  private follow(editor: vscode.TextEditor, scroll: boolean): void {
    const { document, selection } = editor;
    if (document.uri.scheme === SCHEME) {
      const lines = this.latest(editor)?.lines ?? [];
      const sources = lines.filter(({ line, source }) => line === selection.active.line && source !== null);
      markSources(sources, scroll);
      editor.setDecorations(linked, []);
      return;
    }
    const uri = document.uri.toString();
    for (const forward of forwardEditors().filter((each) => isOf(each, uri))) {
      const lines = linesAt(this.latest(forward)?.lines ?? [], uri, selection.active);
      mark(
        forward,
        lines.map(({ line }) => forward.document.lineAt(Math.min(line, forward.document.lineCount - 1)).range),
        scroll,
      );
      editor.setDecorations(linked, []);
    }
  }

  /** A source has other places now, a forward another text. */
  private textChanged(document: vscode.TextDocument): void {
    if (document.uri.scheme === SCHEME) {
      this.renew();
      return;
    }
    const uri = document.uri.toString();
    const shown = forwardEditors().filter((editor) => isOf(editor, uri));
    if (shown.length > 0) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.refetch(shown), QUIET_MS);
    }
  }

  private async refetch(editors: vscode.TextEditor[]): Promise<void> {
    await Promise.all(editors.map(({ document }) => this.documents.fetch(idOf(document.uri))));
    this.renew();
  }

  private renew(): void {
    this.markStale();
    const active = vscode.window.activeTextEditor;
    if (active) {
      this.follow(active, false);
    }
  }

  private markStale(): void {
    for (const editor of forwardEditors()) {
      const is = this.latest(editor)?.stale ?? false;
      editor.setDecorations(stale, is ? [editor.document.lineAt(0).range] : []);
    }
  }

  private latest({ document }: vscode.TextEditor): Forward | undefined {
    const id = idOf(document.uri);
    return id.version === undefined ? this.documents.latest(id) : undefined;
  }
}

function forwardEditors(): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter(({ document }) => document.uri.scheme === SCHEME);
}

/** Whether an editor's forward can have come from this file: from its target's, or from one that this imports. */
function isOf({ document }: vscode.TextEditor, uri: string): boolean {
  return document.uri.scheme === SCHEME && (idOf(document.uri).uri === uri || SOURCE.test(uri));
}

/** The lines whose source has the position, as narrowly as any does. */
function linesAt(lines: Line[], uri: string, position: vscode.Position): Line[] {
  const around = lines.filter(({ source }) => source?.uri === uri && toRange(source.range).contains(position));
  const size = ({ source }: Line) => {
    const { start, end } = source?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
    return (end.line - start.line) * 10_000 + end.character - start.character;
  };
  const smallest = Math.min(...around.map(size));
  return around.filter((line) => size(line) === smallest);
}

function markSources(lines: Line[], scroll: boolean): void {
  for (const editor of vscode.window.visibleTextEditors.filter(({ document }) => document.uri.scheme !== SCHEME)) {
    const uri = editor.document.uri.toString();
    const ranges = lines.flatMap(({ source }) => (source?.uri === uri ? [toRange(source.range)] : []));
    mark(editor, ranges, scroll);
  }
}

function mark(editor: vscode.TextEditor, ranges: vscode.Range[], scroll: boolean): void {
  editor.setDecorations(linked, ranges);
  if (scroll && ranges[0]) {
    editor.revealRange(ranges[0], vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}
