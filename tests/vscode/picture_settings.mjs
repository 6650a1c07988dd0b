/** Settings for pictures: nothing but what they are about. */
export const PICTURE_SETTINGS = {
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
};
