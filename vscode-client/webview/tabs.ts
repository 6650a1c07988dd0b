/** The tabs and their panels: one panel is shown, arrow keys move between the tabs. */
export function connectTabs(list: HTMLElement, shown: (id: string) => void): void {
  const tabs = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
  const select = (tab: HTMLElement) => {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      panelOf(each).hidden = !chosen;
    }
    shown(panelOf(tab).id);
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => {
      select(tab);
    });
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key] ?? 0;
      const next = tabs[(index + step + tabs.length) % tabs.length];
      if (step !== 0 && next) {
        select(next);
        next.focus();
      }
    });
  });
  if (tabs[0]) {
    select(tabs[0]);
  }
}

function panelOf(tab: HTMLElement): HTMLElement {
  const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
  if (!panel) {
    throw new Error(`${tab.id} has no panel`);
  }
  return panel;
}
