// Numbers over the steps of one optimizer, drawn as SVG: sharp on paper, and readable without a mouse.

import { short, seconds, many } from "./model.js";
import { element, svg } from "./draw.js";

const WIDTH = 400;
const HEIGHT = 150;
const LEFT = 54;
const BOTTOM = 18;
const TOP = 8;

const share = (value) => `${Math.round(value * 100)} %`;

// Each chart: its title, the series it shows, how a value is told, and what to say when there is nothing.
const CHARTS = [
  {
    title: "Gradient norm",
    of: { norm: "before clipping", clipped: "after clipping" },
    told: short,
    log: true,
    full: true,
  },
  { title: "Loss", of: { loss: "loss" }, told: short, full: true },
  { title: "Loss scale", of: { scale: "loss scale" }, told: short, log: true },
  { title: "Stale share of each update", of: { stale: "already used" }, told: share, least: 0, most: 1, bad: true },
  { title: "Micro-batches per step", of: { micro: "backwards" }, told: short, least: 0 },
  { title: "Items per step", of: { items: "items" }, told: short, least: 0, full: true },
  {
    title: "Time per phase",
    of: { rest: "forward, data, rest", backward: "backward", step: "step" },
    told: seconds,
    least: 0,
    times: true,
  },
];

export function charts(lane) {
  return CHARTS.filter((chart) => has(lane, chart) && !constant(lane, chart)).map((chart) => drawChart(chart, lane));
}

// What is the same in every step, in one sentence: a chart of it would show a line and take a screen.
export function constants(lane) {
  const same = CHARTS.filter((chart) => has(lane, chart) && constant(lane, chart));
  const told = same.map(({ title, of, told }) => `${title.toLowerCase()} ${told(lane.series[Object.keys(of)[0]].y[0])}`);
  return told.length ? `The same in every step: ${told.join(", ")}.` : "";
}

function has(lane, { of }) {
  return Object.keys(of).some((name) => lane.series[name]?.x.length);
}

function constant(lane, chart) {
  const names = Object.keys(chart.of);
  const series = lane.series[names[0]];
  return names.length === 1 && series.x.length > 1 && !series.none && series.y.every((value) => value === series.y[0]);
}

// The charts that this trace has no numbers for.
export function missing(lane) {
  return CHARTS.filter((chart) => chart.full && !has(lane, chart)).map(({ title }) => title.toLowerCase());
}

// Whether a second series only repeats the first: nothing was clipped.
function same(lane, chart, name) {
  const first = lane.series[Object.keys(chart.of)[0]];
  return name === "clipped" && first && lane.series[name].y.every((value, i) => value === first.y[i]);
}

export function scaleFor(values, { least, most, log, times }) {
  let low = least ?? Math.min(...values);
  let high = most ?? Math.max(...values);
  if (times) {
    const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
    high = Math.min(high, 4 * (sorted[Math.floor(sorted.length * 0.95)] || high)); // a first step takes a hundred times as long
  }
  const logarithmic = Boolean(log) && low > 0 && high / low > 50;
  if (low === high) {
    low -= Math.abs(low) * 0.1 || 1;
    high += Math.abs(high) * 0.1 || 1;
    if (least !== undefined) low = least;
  }
  const way = logarithmic ? Math.log10 : (value) => value;
  const place = (value) =>
    TOP + (1 - (way(Math.min(value, high)) - way(low)) / (way(high) - way(low))) * (HEIGHT - TOP - BOTTOM);
  return { low, high, place, logarithmic };
}

function drawChart(chart, lane) {
  const shown = Object.entries(chart.of).filter(
    ([name], i) => lane.series[name]?.x.length && (!i || !same(lane, chart, name)),
  );
  const all = shown.flatMap(([name]) => {
    const { y, low, high } = lane.series[name];
    return low ? [...low, ...high] : y;
  });
  const scale = scaleFor(all, chart);
  const last = Math.max(...shown.map(([name]) => lane.series[name].x.at(-1)));
  const x = (step) => LEFT + ((step - 1) / Math.max(1, last - 1)) * (WIDTH - LEFT - 8);
  const words = shown.map(([name, label]) => `${label}: ${span(lane.series[name], chart.told)}`).join("; ");
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${chart.title}. ${words}`,
  });
  for (const value of [scale.low, scale.high]) {
    const y = scale.place(value);
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y, y2: y }));
    const label = svg("text", { class: "axis", x: LEFT - 5, y: y + 4, "text-anchor": "end" });
    label.textContent = chart.told(value);
    picture.append(label);
  }
  for (const [step, anchor] of [
    [1, "start"],
    [last, "end"],
  ]) {
    const label = svg("text", { class: "axis", x: x(step), y: HEIGHT - 4, "text-anchor": anchor });
    label.textContent = step === 1 ? "step 1" : step.toLocaleString("en");
    picture.append(label);
  }
  shown.forEach(([name], i) => drawSeries(picture, lane.series[name], x, scale.place, chart.bad ? "bad" : "abc"[i]));
  const skips = lane.series.skipped;
  if (chart.of.scale && skips) {
    skips.x.forEach((step, i) => {
      if (skips.y[i]) picture.append(svg("circle", { class: "dot", cx: x(step), cy: TOP, r: 2.5 }));
    });
  }
  const legend =
    shown.length > 1
      ? shown.map(([, label], i) => `${["\u2014", "- -", "\u00b7\u00b7\u00b7"][i]} ${label}`).join("  ")
      : "";
  const note = [
    legend,
    scale.logarithmic ? "log scale" : "",
    chart.of.scale && lane.skips ? `\u2022 ${many(lane.skips, "skip")}` : "",
  ];
  const none = shown.map(([name]) => lane.series[name].none || 0).reduce((a, b) => a + b, 0);
  const above = chart.times ? all.filter((value) => value > scale.high).length : 0;
  if (above) note.push(`${many(above, "value")} above`);
  if (none) note.push(`${many(none, "value")} not finite`);
  const caption = element("figcaption", {}, chart.title, element("span", {}, note.filter(Boolean).join("; ")));
  return element("figure", {}, caption, picture, tableOf(chart, shown, lane));
}

function drawSeries(picture, { x: steps, y, low, high }, x, place, name) {
  const points = steps.map((step, i) => `${x(step).toFixed(1)} ${place(y[i]).toFixed(1)}`);
  if (low) {
    const up = steps.map((step, i) => `${x(step).toFixed(1)} ${place(high[i]).toFixed(1)}`);
    const down = steps.map((step, i) => `${x(step).toFixed(1)} ${place(low[i]).toFixed(1)}`).reverse();
    picture.append(svg("path", { class: "spread", d: `M${up.join("L")}L${down.join("L")}Z` }));
  }
  if (points.length === 1) picture.append(svg("circle", { class: "dot", cx: x(steps[0]), cy: place(y[0]), r: 3 }));
  picture.append(svg("path", { class: `series ${name}`, d: `M${points.join("L")}` }));
}

function span({ y, x }, told) {
  return `from ${told(y[0])} at step ${x[0]} to ${told(y.at(-1))} at step ${x.at(-1)}, between ${told(Math.min(...y))} and ${told(Math.max(...y))}`;
}

function tableOf(chart, shown, lane) {
  const details = element("details", {}, element("summary", {}, "as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const head = element(
      "tr",
      {},
      ...["step", ...shown.map(([, label]) => label)].map((word) => element("th", { scope: "col" }, word)),
    );
    const { x } = lane.series[shown[0][0]];
    const every = Math.ceil(x.length / 50);
    const rows = x.flatMap((step, i) =>
      i % every
        ? []
        : [
            element(
              "tr",
              {},
              element("td", {}, String(step)),
              ...shown.map(([name]) => cell(lane.series[name].y[i], chart)),
            ),
          ],
    );
    details.append(element("div", { className: "scroll" }, element("table", {}, head, ...rows)));
  });
  return details;
}

function cell(value, chart) {
  return element("td", {}, value === undefined ? "" : chart.told(value));
}
