/** Draws curves over two logarithmic axes as SVG. */

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 110;
const TOP = 40;
const BOTTOM = 40;
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/** A point of a curve; both are above 0. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Makes the picture, with a legend of the curves' names. */
export function drawCurves(
  title: string,
  curves: ReadonlyMap<string, readonly Point[]>,
): string {
  const all = [...curves.values()].flat();
  const x = axis(all.map(({ x }) => x), LEFT, WIDTH - RIGHT);
  const y = axis(all.map(({ y }) => y), HEIGHT - BOTTOM, TOP);
  const lines = [...curves].map(([name, points], at) => {
    const colour = COLOURS[at % COLOURS.length];
    const path = points.map((one) => `${x.at(one.x)},${y.at(one.y)}`).join(" ");
    const dots = points.map((one) =>
      `<circle cx="${x.at(one.x)}" cy="${y.at(one.y)}" r="3" fill="${colour}"/>`
    );
    const legend = TOP + 10 + 20 * at;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${
      dots.join("")
    }
<rect x="${WIDTH - RIGHT + 15}" y="${
      legend - 9
    }" width="12" height="12" fill="${colour}"/><text x="${WIDTH - RIGHT + 33}" y="${
      legend + 2
    }">${name}</text>`;
  });
  const grid = [
    ...x.ticks.map((tick) =>
      `<path d="M${x.at(tick)} ${TOP}V${HEIGHT - BOTTOM}"/><text x="${x.at(tick)}" y="${
        HEIGHT - BOTTOM + 18
      }" text-anchor="middle">${label(tick)}</text>`
    ),
    ...y.ticks.map((tick) =>
      `<path d="M${LEFT} ${y.at(tick)}H${WIDTH - RIGHT}"/><text x="${LEFT - 8}" y="${
        y.at(tick) + 4
      }" text-anchor="end">${label(tick)}</text>`
    ),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<title>${title}</title><rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/><text x="${LEFT}" y="22" font-size="14">${title}</text>
<g stroke="#ddd" stroke-width="1">${
    grid.join("\n").replaceAll("<text", '<text stroke="none" fill="#333"')
  }</g>
${lines.join("\n")}
</svg>
`;
}

/** Where values stand between two places, and the powers of ten among them. */
function axis(values: readonly number[], from: number, to: number) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    at: (value: number) =>
      Math.round(from + (to - from) * (Math.log10(value) - low) / (high - low)),
    ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
  };
}

function label(value: number): string {
  return value < 1 ? String(value) : value.toLocaleString("en");
}
