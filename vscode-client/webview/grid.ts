/** A table of any length for pointer, keyboard and screen readers; only the rows in view are in the page. */
export interface Column<Row> {
  title: string;
  /** A CSS grid track, such as `2fr`. */
  width: string;
  text(row: Row): string;
  /** What the rows can be sorted by; there is none where they can't. */
  number?: (row: Row) => number;
}

/** The rows with the largest numbers first; those with equal ones stay in order. */
export function sorted<Row>(rows: Row[], { number }: Column<Row>): Row[] {
  return number ? [...rows].sort((one, other) => number(other) - number(one)) : rows;
}

const ROW_HEIGHT = 22;
const BEYOND = 8;

export class Grid<Row> {
  private rows: Row[] = [];
  private unsorted: Row[] = [];
  private sortedBy: Column<Row> | undefined;
  private active = 0;
  private readonly body: HTMLElement;
  /** Those of the rows in view, from the top. */
  private readonly elements: HTMLElement[] = [];

  /**
   * @param element an empty element, which scrolls
   * @param chosen hears which row the pointer or the Enter key has chosen
   * @param failing says which rows are marked in red, beside what they say themselves
   */
  constructor(
    private readonly element: HTMLElement,
    label: string,
    private readonly columns: Column<Row>[],
    private readonly chosen: (row: Row) => void,
    private readonly failing: (row: Row) => boolean = () => false,
  ) {
    element.setAttribute("role", "grid");
    element.setAttribute("aria-label", label);
    element.setAttribute("aria-readonly", "true");
    element.setAttribute("aria-colcount", String(columns.length));
    element.tabIndex = 0;
    element.style.setProperty("--columns", columns.map(({ width }) => width).join(" "));
    element.append(this.header());
    this.body = element.appendChild(part("rowgroup"));
    this.body.className = "rows";
    element.addEventListener("scroll", () => {
      this.draw();
    });
    element.addEventListener("keydown", (event) => {
      this.key(event);
    });
    element.addEventListener("click", (event) => {
      this.click(event);
    });
    new ResizeObserver(() => {
      this.draw();
    }).observe(element);
  }

  show(rows: Row[]): void {
    this.unsorted = rows;
    this.rows = this.sortedBy ? sorted(rows, this.sortedBy) : rows;
    this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.body.style.height = `${String(rows.length * ROW_HEIGHT)}px`;
    this.draw();
  }

  /** Makes the first row that fits the active one, and scrolls to it. */
  reveal(fits: (row: Row) => boolean): void {
    this.activate(this.rows.findIndex(fits));
  }

  /** Makes a row the active one, and scrolls to it. */
  private activate(index: number): void {
    this.active = Math.max(0, Math.min(this.rows.length - 1, index));
    const top = this.active * ROW_HEIGHT;
    const height = this.element.clientHeight - 2 * ROW_HEIGHT;
    const { scrollTop } = this.element;
    this.element.scrollTop = Math.min(top, Math.max(scrollTop, top - height));
    this.draw();
  }

  private header(): HTMLElement {
    const group = part("rowgroup");
    const row = group.appendChild(part("row"));
    group.className = "header";
    row.className = "row";
    row.setAttribute("aria-rowindex", "1");
    row.append(...this.columns.map((column) => this.heading(column)));
    return group;
  }

  /** A column's title, which sorts the rows if they can be: once by the column, then as they were. */
  private heading(column: Column<Row>): HTMLElement {
    const { title, number } = column;
    const heading = part("columnheader", number ? "" : title);
    if (number) {
      const button = heading.appendChild(document.createElement("button"));
      button.textContent = title;
      button.title = `Sort by ${title}, or as before`;
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        this.sort(this.sortedBy === column ? undefined : column, heading);
      });
      button.addEventListener("keydown", (event) => {
        event.stopPropagation(); // Enter is for the button, not for the active row
      });
    }
    return heading;
  }

  private sort(column: Column<Row> | undefined, heading: HTMLElement): void {
    this.sortedBy = column;
    this.element.querySelectorAll("[aria-sort]").forEach((other) => {
      other.removeAttribute("aria-sort");
    });
    if (column) {
      heading.setAttribute("aria-sort", "descending");
    }
    this.active = 0;
    this.element.scrollTop = 0;
    this.show(this.unsorted);
  }

  /** Rows keep their elements, so that a click counts whose pointer went down before another graph was shown. */
  private draw(): void {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW_HEIGHT) - BEYOND);
    const many = Math.ceil(this.element.clientHeight / ROW_HEIGHT) + 2 * BEYOND;
    const shown = this.rows.slice(first, first + many);
    while (this.elements.length > shown.length) {
      this.elements.pop()?.remove();
    }
    shown.forEach((row, at) => {
      const element = (this.elements[at] ??= this.body.appendChild(this.emptyRow()));
      this.fill(element, row, first + at);
    });
    if (first <= this.active && this.active < first + shown.length) {
      this.element.setAttribute("aria-activedescendant", this.idOf(this.active));
    } else {
      this.element.removeAttribute("aria-activedescendant");
    }
  }

  private emptyRow(): HTMLElement {
    const element = part("row");
    element.append(...this.columns.map(() => part("gridcell")));
    return element;
  }

  private fill(element: HTMLElement, row: Row, index: number): void {
    element.className = this.failing(row) ? "failing row" : "row";
    element.id = this.idOf(index);
    element.dataset.index = String(index);
    element.style.top = `${String(index * ROW_HEIGHT)}px`;
    element.setAttribute("aria-rowindex", String(index + 2));
    element.setAttribute("aria-selected", String(index === this.active));
    [...element.children].forEach((cell, at) => {
      const text = this.columns[at]?.text(row) ?? "";
      cell.textContent = text;
      cell.setAttribute("title", text);
    });
  }

  private idOf(index: number): string {
    return `${this.element.id}-row-${String(index)}`;
  }

  private key(event: KeyboardEvent): void {
    const page = Math.floor(this.element.clientHeight / ROW_HEIGHT) - 2;
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const ends: Record<string, number> = { Home: 0, End: this.rows.length - 1 };
    const to = ends[event.key] ?? (event.key in moves ? this.active + (moves[event.key] ?? 0) : undefined);
    if (to !== undefined) {
      this.activate(to);
    } else if (event.key === "Enter") {
      this.choose();
    } else {
      return;
    }
    event.preventDefault();
  }

  private click(event: MouseEvent): void {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
    if (row) {
      this.activate(Number(row.dataset.index));
      this.choose();
    }
  }

  private choose(): void {
    const row = this.rows[this.active];
    if (row !== undefined) {
      this.chosen(row);
    }
  }
}

function part(role: string, text = ""): HTMLElement {
  const element = document.createElement("div");
  element.setAttribute("role", role);
  element.textContent = text;
  return element;
}
