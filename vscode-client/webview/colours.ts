/** Colours as the theme writes them, mixed so that text on them can be read. */

type Rgb = [number, number, number];

/** One colour over another, the upper one as opaque as `share` (0 to 1) says. */
export function mixed(lower: string, upper: string, share: number): string {
  const [below, above] = [parsed(lower), parsed(upper)];
  const parts = below.map((part, index) => Math.round(part + ((above[index] ?? part) - part) * share));
  return `rgb(${parts.join(", ")})`;
}

/** Black or white, whichever stands out more from a colour: at least 4.5 to 1, as WCAG 2.2 asks for text. */
export function readableOn(colour: string): string {
  return contrast(colour, "#000000") >= contrast(colour, "#ffffff") ? "#000000" : "#ffffff";
}

/** The contrast ratio of WCAG 2.2, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(parsed(one)), luminance(parsed(other))].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(rgb: Rgb): number {
  const [red = 0, green = 0, blue = 0] = rgb.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Reads `#rgb`, `#rrggbb`, `rgb(…)` and `rgba(…)`, without what they say of transparency; all else is black. */
function parsed(colour: string): Rgb {
  const short = /^#([\da-f])([\da-f])([\da-f])[\da-f]?$/i.exec(colour);
  const long = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})(?:[\da-f]{2})?$/i.exec(colour);
  const decimal = /^rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)/.exec(colour);
  const hex = short?.slice(1).map((digit) => digit + digit) ?? long?.slice(1);
  const [red = 0, green = 0, blue = 0] =
    hex?.map((digits) => parseInt(digits, 16)) ?? decimal?.slice(1).map(Number) ?? [];
  return [red, green, blue];
}
