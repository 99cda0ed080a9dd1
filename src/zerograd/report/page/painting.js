// How the timeline looks: bands, shapes upon them, names beside them, and the whole run above.

import { GONE, eventsIn, held, many, overlap, placeOf, seconds, shown, wordFor } from "./model.js";
import { colours, drawBand, drawGlyph, hatching } from "./draw.js";
import { TOP } from "./strips.js";

// What a pixel shows of several contents: the last of these.
const TELLING = ["empty", "spent", "refused", "fresh", "lost", "leaked", "mixed"];

function fit(timeline, canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  timeline.width = width;
  return context;
}

export function paint(timeline) {
  const tones = colours();
  const context = fit(timeline, timeline.canvas, timeline.height);
  timeline.hatch = timeline.hatch || hatching(context);
  paintAxis(timeline, context, tones);
  for (const strip of timeline.strips) paintStrip(timeline, context, strip, tones);
  paintOverview(timeline, tones);
  timeline.canvas.dataset.view = timeline.view.join(" ");
  performance.mark("timeline-painted");
}

function paintAxis(timeline, context, tones) {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = tones.faint;
  context.strokeStyle = tones.line;
  if (timeline.gutter()) context.fillText(timeline.axis === "time" ? "time" : "event number", 8, 13);
  const [from, to] = timeline.view;
  const wanted = Math.max(2, Math.floor((timeline.width - timeline.gutter()) / 110));
  const step = niceStep((to - from) / wanted, timeline.axis === "order");
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    const x = timeline.x(tick);
    context.beginPath();
    context.moveTo(x, TOP - 6);
    context.lineTo(x, timeline.height);
    context.stroke();
    const label = timeline.axis === "time" ? seconds(tick / 1e6) : Math.round(tick + 1).toLocaleString("en");
    context.fillText(label, x + 3, 13);
  }
}

function paintStrip(timeline, context, strip, tones) {
  const { lane, y, height, depth } = strip;
  const process = timeline.model.processes[lane.process];
  const narrow = timeline.gutter() === 0;
  const band = { y: y + (depth ? 6 : narrow ? 32 : 20), height: depth ? height - 10 : 22 };
  context.save();
  context.beginPath();
  context.rect(timeline.gutter(), 0, timeline.width, timeline.height);
  context.clip();
  const first = Math.max(0, timeline.rowsBefore(lane, process, timeline.view[0]) - 1);
  const last = Math.min(lane.rows.length, timeline.rowsBefore(lane, process, timeline.view[1]) + 1);
  const contents = timeline.contents(strip);
  const names = timeline.model.contents;
  const content = (i) => {
    if (!contents) return held(timeline.model, lane, i);
    return contents[i] === GONE ? "empty" : shown(names[contents[i]]);
  };
  if (last - first > (timeline.width - timeline.gutter()) / 2)
    paintDense(timeline, context, strip, process, first, last, content, band, tones);
  else paintEvents(timeline, context, strip, process, first, last, content, band, tones);
  context.restore();
  paintName(timeline, context, strip, tones, narrow);
}

function paintEvents(timeline, context, strip, process, first, last, contentOf, band, tones) {
  const { lane, depth } = strip;
  const number = lane.process;
  const mask = timeline.masks && timeline.masks[number];
  let run = null; // a content that lasts for several events is named once, above them
  for (let i = first; i < last; i++) {
    const x = timeline.x(timeline.middle(process, lane.rows[i]));
    const right =
      i + 1 < lane.rows.length
        ? timeline.x(timeline.middle(process, lane.rows[i + 1]))
        : timeline.x(timeline.range()[1]);
    const content = contentOf(i);
    drawBand(context, content, x, band.y, right - x, band.height, tones, timeline.hatch);
    if (run && run.content === content) run.right = right;
    else {
      if (!depth && run) paintContent(timeline, context, run, band, tones);
      run = { content, x, right };
    }
  }
  if (!depth && run) paintContent(timeline, context, run, band, tones);
  const space = (timeline.width - timeline.gutter()) / Math.max(1, last - first);
  let labelled = -Infinity;
  for (let i = first; i < last; i++) {
    const row = lane.rows[i];
    const x = timeline.x(timeline.middle(process, row));
    if (x < timeline.gutter() - 10) continue;
    const word = wordFor(timeline.model, process, row);
    context.globalAlpha = mask && !mask[row] ? 0.12 : 1;
    const marked = timeline.marked.get(number)?.has(row);
    const fault = !depth && process.faults.has(row);
    const size = (depth ? 11 : 16) * (space < 14 ? 0.75 : 1);
    const missed = strip.members && process.hit[row] >= 0 && !overlap(process.sets[process.hit[row]], strip.members);
    if (!missed && (!depth || process.kind[row] >= 0)) {
      drawGlyph(context, word, x, band.y + band.height / 2, size, tones.text, tones.page);
    }
    if (!depth && (marked || fault)) ring(timeline, context, x, band, fault ? tones.bad : tones.accent);
    if (timeline.selected?.row === row && timeline.selected.process === number && !depth)
      pointer(timeline, context, x, band, tones);
    if (!depth && space > 16) {
      const place = placeOf(timeline.model, process, row);
      const label = `${word === "events" ? eventsIn(process, row) + " events" : word} ${place.slice(place.lastIndexOf(":"))}`;
      context.font = `${fault ? "700 " : ""}11px system-ui, sans-serif`;
      const wide = context.measureText(label).width;
      if (x - wide / 2 > Math.max(labelled + 6, timeline.gutter())) {
        context.fillStyle = fault ? tones.bad : tones.faint;
        context.fillText(label, x - wide / 2, band.y + band.height + 14);
        labelled = x + wide / 2;
      }
    }
    context.globalAlpha = 1;
  }
}

function paintContent(timeline, context, { content, x, right }, band, tones) {
  if (content === "empty") return;
  const label = content === "lost" ? "never used" : content;
  context.font = "600 11px system-ui, sans-serif";
  const from = Math.max(x, timeline.gutter());
  const wide = context.measureText(label).width;
  if (Math.min(right, timeline.width) - from < wide + 26) return;
  context.fillStyle = tones[{ lost: "lost", leaked: "warn", mixed: "bad", fresh: "good" }[content] || "faint"];
  context.fillText(label, (from + Math.min(right, timeline.width) - wide) / 2, band.y - 5);
}

function ring(timeline, context, x, band, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.strokeRect(x - 11, band.y - 4, 22, band.height + 8);
  context.lineWidth = 1;
}

function pointer(timeline, context, x, band, tones) {
  context.fillStyle = tones.accent;
  context.beginPath();
  context.moveTo(x, band.y - 3);
  context.lineTo(x - 6, band.y - 13);
  context.lineTo(x + 6, band.y - 13);
  context.fill();
}

// More events than pixels: each pixel shows the content that matters most, and how many events pass.
function paintDense(timeline, context, strip, process, first, last, contentOf, band, tones) {
  const { lane, depth } = strip;
  const left = timeline.gutter();
  const columns = Math.max(1, Math.ceil(timeline.width - left));
  const worst = new Int8Array(columns).fill(-1);
  const faults = new Uint8Array(columns);
  const mask = timeline.masks && timeline.masks[lane.process];
  const shown = new Uint8Array(columns);
  for (let i = first; i < last; i++) {
    const row = lane.rows[i];
    const at = Math.floor(timeline.x(timeline.middle(process, row)) - left);
    if (at < 0 || at >= columns) continue;
    const weight = TELLING.indexOf(contentOf(i));
    if (weight > worst[at]) worst[at] = weight;
    if (!mask || mask[row]) shown[at] = 1;
    if (process.faults.has(row)) faults[at] = 1;
  }
  for (let column = 0, now = 0; column < columns;) {
    if (worst[column] >= 0) now = worst[column];
    let end = column + 1;
    while (end < columns && (worst[end] < 0 || worst[end] === now)) end++;
    drawBand(context, TELLING[now], left + column, band.y, end - column, band.height, tones, timeline.hatch);
    column = end;
  }
  if (depth) return;
  for (let column = 0; column < columns; column++) {
    context.fillStyle = faults[column] ? tones.bad : tones.faint;
    if (faults[column]) context.fillRect(left + column - 1, band.y - 9, 3, 8);
    if (mask && shown[column]) context.fillRect(left + column, band.y + band.height + 3, 1, 5);
  }
}

function paintName(timeline, context, strip, tones, narrow) {
  const { lane, y, depth, name } = strip;
  const indent = 8 + depth * 12;
  context.fillStyle = depth ? tones.faint : tones.text;
  context.font = `${depth ? "" : "600 "}${depth ? 12 : 13}px system-ui, sans-serif`;
  const canOpen = !depth && lane.parts.some((part) => part.size);
  const label = `${canOpen ? (timeline.open.has(lane.number) ? "\u25be " : "\u25b8 ") : ""}${name}`;
  if (narrow) {
    if (!depth) context.fillText(fitText(context, label, timeline.width - 20), indent, y + 14);
    return;
  }
  const room = timeline.gutter() - indent - 6;
  const fitted = fitText(context, label, room);
  context.fillText(fitted, indent, y + (depth ? 17 : 30));
  const taken = context.measureText(`${fitted}  `).width;
  if (depth) return;
  context.fillStyle = tones.faint;
  context.font = "12px system-ui, sans-serif";
  const skips = lane.skips ? `, ${lane.skips} skipped` : "";
  const family = lane.title.startsWith(lane.family) ? "" : lane.family;
  if (context.measureText(family).width <= room - taken) context.fillText(family, indent + taken, y + 30);
  const about = `${strip.place ? `${strip.place}, ` : ""}${many(lane.steps, "step")}${skips}`;
  context.fillText(fitText(context, about, room), indent, y + 47);
}

function paintOverview(timeline, tones) {
  const view = timeline.view;
  const width = timeline.width;
  const context = fit(timeline, timeline.overview, 26);
  const [least, most] = timeline.range();
  timeline.view = [least, most];
  const height = Math.max(2, Math.min(18, 22 / timeline.model.lanes.length));
  timeline.model.lanes.forEach((lane, i) => {
    if ((i + 1) * height > 24) return;
    const process = timeline.model.processes[lane.process];
    const content = (j) => held(timeline.model, lane, j);
    const band = { y: 2 + i * height, height: height - 1 };
    paintDense(timeline, context, { lane, depth: 1 }, process, 0, lane.rows.length, content, band, tones);
  });
  timeline.view = view;
  const left = timeline.gutter() + 6;
  const scale = (width - left - 6) / (most - least);
  for (const process of timeline.model.processes) {
    for (const row of process.faults.keys()) {
      timeline.view = [least, most];
      context.fillStyle = tones.bad;
      context.fillRect(timeline.x(timeline.middle(process, row)) - 1, 21, 2, 5);
      timeline.view = view;
    }
  }
  const from = left + (view[0] - least) * scale;
  const to = from + Math.max(3, (view[1] - view[0]) * scale);
  context.globalAlpha = 0.72; // what is not shown below stands back
  context.fillStyle = tones.page;
  context.fillRect(timeline.gutter(), 0, from - timeline.gutter(), 26);
  context.fillRect(to, 0, width - to, 26);
  context.globalAlpha = 1;
  context.strokeStyle = tones.text;
  context.lineWidth = 1.5;
  context.strokeRect(from, 1, to - from, 24);
  context.fillStyle = tones.faint;
  context.font = "12px system-ui, sans-serif";
  if (timeline.gutter()) context.fillText("the whole run", 8, 17);
  timeline.width = width;
}

export function niceStep(rough, whole) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  return whole ? Math.max(1, step) : step;
}

function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}\u2026`).width > width) end = Math.floor(end * 0.9);
  return `${text.slice(0, end)}\u2026`;
}
