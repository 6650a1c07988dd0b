/** The graph's page, before its script fills it. */

/** Addresses of the page's files, as the page may load them, and what its content security policy names. */
export interface PageFiles {
  script: string;
  style: string;
  worker: string;
  source: string;
  nonce: string;
}

const TABS = [
  ["graph", "Graph"],
  ["table", "Table"],
  ["order", "Execution order"],
] as const;

const BUTTONS = [
  ["open-all", "Open all", "Open all modules"],
  ["close-all", "Close all", "Close all modules"],
  ["fit", "Fit", "Show the whole graph (0)"],
  ["svg", "SVG", "Save the drawing as an SVG image"],
  ["dot", "DOT", "Save the graph for Graphviz"],
] as const;

export function pageHtml({ script, style, worker, source, nonce }: PageFiles): string {
  // ELK's worker is started from a blob: a worker's address has to be of the page's own origin, which files are not.
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source}`,
    `connect-src ${source}`,
    "worker-src blob:",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Graph</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
<main>
<h1 id="title" class="unseen">Graph</h1>
<header>
${CAPTURE}
<div role="tablist" aria-label="View">${TABS.map(tab).join("")}</div>
<div id="search-bar" role="search">
<input id="search" type="search" placeholder="Search: name, target, class, shape" aria-label="Search nodes" aria-describedby="hits">
<span id="hits" role="status"></span>
</div>
${INPUT}
<div role="toolbar" aria-label="Graph">${SHADE}${BUTTONS.map(button).join("")}</div>
</header>
<p id="missing" role="status" hidden></p>
<section id="failures" aria-label="Where tracing fails" hidden></section>
${TABS.map(([id]) => `<section id="${id}" role="tabpanel" aria-labelledby="${id}-tab" hidden>${id === "graph" ? STAGE : grid(id)}</section>`).join("\n")}
<p id="detail"></p>
<footer id="summary" role="status"></footer>
</main>
<script nonce="${nonce}" src="${script}" data-worker="${worker}" type="module"></script>
</body>
</html>
`;
}

const INPUT =
  '<div id="input-bar"><label id="input-label" hidden>Input <input id="input" type="text" spellcheck="false" autocomplete="off" ' +
  'title="The arguments of a call. Press Enter to see shapes and costs for them; empty the field to see those for the ' +
  'input that fx-lsp found" aria-describedby="input-status">' +
  '</label><span id="input-status" role="status"></span></div>';

const CAPTURE =
  '<label id="capture-label" hidden>Capture <select id="capture" ' +
  "title=\"Whose graph to show: symbolic tracing's, torch.export's or torch.compile's\"></select></label>";

const SHADE =
  '<label>Shade <select id="shade" aria-describedby="legend">' +
  '<option value="">none</option><option value="flops">FLOPs</option><option value="bytes">bytes</option></select></label>';

const STAGE =
  '<canvas id="drawing" aria-hidden="true"></canvas>' +
  '<div id="tree" role="tree" tabindex="0" aria-label="Modules and nodes" aria-describedby="keys"></div>' +
  '<p id="keys" class="unseen">Up and down: previous and next item. Right and left: open and close. Enter: go to the source. ' +
  "Plus, minus and zero: zoom. Shift and arrow keys: move the view. Slash: search.</p>" +
  '<div id="legend" hidden></div>';

function tab([id, text]: (typeof TABS)[number]): string {
  return `<button id="${id}-tab" role="tab" aria-controls="${id}" aria-selected="false" tabindex="-1">${text}</button>`;
}

function button([id, text, title]: (typeof BUTTONS)[number]): string {
  return `<button id="${id}-button" title="${title}">${text}</button>`;
}

function grid(id: string): string {
  return `<div id="${id}-grid" class="grid"></div>`;
}
