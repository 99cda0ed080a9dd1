// The timeline: one lane for each optimizer, its content as a band, its events as shapes upon it.

import { firstFrom, follow, intersect, describe, wordFor, placeOf, eventsIn, GONE, seconds } from "./model.js";
import { colours, drawBand, drawGlyph, hatching } from "./draw.js";

const LANE = 58;
const PART = 26;
const TOP = 24;
const TELLING = ["new", "empty", "spent", "fresh", "lost", "doomed", "leaked", "mixed"]; // what a pixel shows of several contents

// Which rows the canvas has: each lane, and below an open one its groups and the parameters that fare alike.
export function layout(model, open) {
  const strips = [];
  let y = TOP;
  for (const lane of model.lanes) {
    const process = model.processes[lane.process];
    const name = model.processes.length > 1 ? `${process.name}: ${lane.slot}` : lane.slot;
    strips.push({ lane, name, y, height: LANE, depth: 0 });
    y += LANE;
    if (!open.has(lane.number)) continue;
    let first = 0;
    lane.groups.forEach((size, group) => {
      const range = [first, first + size - 1];
      first += size;
      if (lane.groups.length > 1 && size) {
        strips.push({ lane, name: `group ${group} (${size})`, y, height: PART, depth: 1, members: range });
        y += PART;
      }
      for (const part of lane.parts) {
        const members = intersect(part.members, range);
        if (!members.length) continue;
        let held = 0;
        for (let i = 0; i < members.length; i += 2) held += members[i + 1] - members[i] + 1;
        const named = part.names[Math.max(0, position(part.members, members[0]))] || `parameter ${members[0]}`;
        const others = held > 1 ? ` +${held - 1} alike` : "";
        strips.push({ lane, name: named + others, y, height: PART, depth: 2, members });
        y += PART;
      }
    });
  }
  return { strips, height: y + 8 };
}

// The how manieth member of these ranges `wanted` is.
function position(ranges, wanted) {
  let before = 0;
  for (let i = 0; i < ranges.length; i += 2) {
    if (wanted <= ranges[i + 1]) return before + wanted - ranges[i];
    before += ranges[i + 1] - ranges[i] + 1;
  }
  return -1;
}

export class Timeline {
  constructor(model, canvas, overview, tell) {
    Object.assign(this, { model, canvas, overview, tell });
    this.open = new Set();
    this.axis = "order";
    this.masks = null;
    this.selected = null; // { process, row }
    this.marked = new Map(); // process -> rows that are pointed at
    this.followed = new Map();
    this.view = [0, 1];
    this.relayout();
    this.all();
    this.listen();
  }

  // Positions

  positions(process) {
    return this.axis === "time" && process.at ? process.at : process.start;
  }

  range() {
    let end = 1;
    for (const process of this.model.processes) {
      const last = this.positions(process)[process.size - (this.axis === "time" && process.at ? 1 : 0)];
      end = Math.max(end, last || 0);
    }
    return this.axis === "time" ? [-end * 0.01, end * 1.01] : [-0.7, end + 0.5];
  }

  gutter() {
    return this.width < 560 ? 0 : 168;
  }

  x(position) {
    const left = this.gutter() + 6;
    return left + ((position - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - left - 6);
  }

  positionAt(x) {
    const left = this.gutter() + 6;
    return this.view[0] + ((x - left) / (this.width - left - 6)) * (this.view[1] - this.view[0]);
  }

  middle(process, row) {
    if (this.axis === "time" && process.at) return process.at[row];
    return (process.start[row] + process.start[row + 1]) / 2;
  }

  look(from, to) {
    const [least, most] = this.range();
    const whole = most - least;
    const span = Math.min(whole, Math.max(this.axis === "time" ? whole / 1e6 : 4, to - from));
    const first = Math.min(Math.max(least, from), most - span);
    this.view = [first, first + span];
    this.draw();
  }

  all() {
    this.look(...this.range());
  }

  zoom(factor, around = (this.view[0] + this.view[1]) / 2) {
    const [from, to] = this.view;
    this.look(around - (around - from) * factor, around + (to - around) * factor);
  }

  pan(share) {
    const span = this.view[1] - this.view[0];
    this.look(this.view[0] + span * share, this.view[1] + span * share);
  }

  // Show these rows with some air around them.
  show(process, rows, air = 10) {
    const known = this.model.processes[process];
    const first = this.middle(known, rows[0]);
    const last = this.middle(known, rows[rows.length - 1]);
    const margin = this.axis === "time" ? Math.max((last - first) * 0.5, 10) : air;
    this.look(first - margin, last + margin);
  }

  setAxis(axis) {
    this.axis = axis;
    this.all();
    if (this.selected) this.show(this.selected.process, [this.selected.row]);
  }

  // Selecting

  select(process, row, { scroll = true } = {}) {
    this.selected = { process, row };
    const at = this.middle(this.model.processes[process], row);
    if (scroll && (at < this.view[0] || at > this.view[1])) {
      const span = this.view[1] - this.view[0];
      this.look(at - span / 2, at + span / 2);
    }
    this.tell(describe(this.model, process, row), process, row);
    this.draw();
  }

  mark(process, rows) {
    this.marked = new Map([[process, new Set(rows)]]);
    this.draw();
  }

  // The next row, forwards or backwards, that the filter lets through: in its lane, or in any of its process.
  move(by, inLane = true) {
    if (!this.selected) {
      const lane = this.model.lanes[0];
      if (lane && lane.rows.length) {
        const process = this.model.processes[lane.process];
        const i = Math.min(lane.rows.length - 1, firstFrom(lane.rows, this.view[0], (row) => this.middle(process, row)));
        this.select(lane.process, lane.rows[i]);
      }
      return;
    }
    const { process: number, row } = this.selected;
    const process = this.model.processes[number];
    const lane = this.model.lanes[process.lane[row]];
    let next = row + by;
    while (next >= 0 && next < process.size) {
      const fits = !inLane || process.lane[next] === lane.number;
      if (fits && (!this.masks || this.masks[number][next])) return this.select(number, next);
      next += by;
    }
  }

  // The lane above or below, at about the same place.
  change(by) {
    const now = this.selected ? this.model.processes[this.selected.process].lane[this.selected.row] : 0;
    const lane = this.model.lanes[now + by];
    if (!lane || !lane.rows.length) return;
    const process = this.model.processes[lane.process];
    const here = this.selected ? this.middle(this.model.processes[this.selected.process], this.selected.row) : 0;
    const i = Math.min(lane.rows.length - 1, firstFrom(lane.rows, here, (row) => this.middle(process, row)));
    this.select(lane.process, lane.rows[i]);
  }

  toggle(lane) {
    if (this.open.has(lane)) this.open.delete(lane);
    else this.open.add(lane);
    this.relayout();
    this.draw();
  }

  relayout() {
    const { strips, height } = layout(this.model, this.open);
    this.strips = strips;
    this.height = height;
    this.canvas.style.height = `${height}px`;
  }

  contents(strip) {
    if (!strip.members) return null;
    const key = `${strip.lane.number}:${strip.members.join()}`;
    if (!this.followed.has(key)) this.followed.set(key, follow(this.model, strip.lane, strip.members));
    return this.followed.get(key);
  }

  // Drawing

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  fit(canvas, height) {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.width = width;
    return context;
  }

  paint() {
    const tones = colours();
    const context = this.fit(this.canvas, this.height);
    this.hatch = this.hatch || hatching(context);
    this.paintAxis(context, tones);
    for (const strip of this.strips) this.paintStrip(context, strip, tones);
    this.paintOverview(tones);
    this.canvas.dataset.view = this.view.join(" ");
    performance.mark("timeline-painted");
  }

  paintAxis(context, tones) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = tones.faint;
    context.strokeStyle = tones.line;
    const [from, to] = this.view;
    const wanted = Math.max(2, Math.floor((this.width - this.gutter()) / 110));
    const step = niceStep((to - from) / wanted, this.axis === "order");
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      const x = this.x(tick);
      context.beginPath();
      context.moveTo(x, TOP - 6);
      context.lineTo(x, this.height);
      context.stroke();
      const label = this.axis === "time" ? seconds(tick / 1e6) : Math.round(tick + 1).toLocaleString("en");
      context.fillText(label, x + 3, 13);
    }
  }

  paintStrip(context, strip, tones) {
    const { lane, y, height, depth } = strip;
    const process = this.model.processes[lane.process];
    const narrow = this.gutter() === 0;
    const band = { y: y + (depth ? 6 : narrow ? 24 : 20), height: depth ? height - 10 : 22 };
    context.save();
    context.beginPath();
    context.rect(this.gutter(), 0, this.width, this.height);
    context.clip();
    const first = Math.max(0, this.rowsBefore(lane, process, this.view[0]) - 1);
    const last = Math.min(lane.rows.length, this.rowsBefore(lane, process, this.view[1]) + 1);
    const contents = this.contents(strip);
    const names = this.model.contents;
    const held = (i) => {
      if (lane.doomed[i] && !contents) return "doomed";
      const content = contents ? contents[i] : process.content[lane.rows[i]];
      return content === GONE ? "new" : names[content];
    };
    if (last - first > (this.width - this.gutter()) / 2) this.paintDense(context, strip, process, first, last, held, band, tones);
    else this.paintEvents(context, strip, process, first, last, held, band, tones);
    context.restore();
    this.paintName(context, strip, tones, narrow);
  }

  rowsBefore(lane, process, position) {
    return firstFrom(lane.rows, position, (row) => this.middle(process, row));
  }

  paintEvents(context, strip, process, first, last, held, band, tones) {
    const { lane, depth } = strip;
    const number = lane.process;
    const mask = this.masks && this.masks[number];
    for (let i = first; i < last; i++) {
      const x = this.x(this.middle(process, lane.rows[i]));
      const right = i + 1 < lane.rows.length ? this.x(this.middle(process, lane.rows[i + 1])) : this.x(this.range()[1]);
      const content = held(i);
      drawBand(context, content, x, band.y, right - x, band.height, tones, this.hatch);
      if (!depth && right - x > 66 && !["new", "empty"].includes(content)) this.paintContent(context, content, (x + right) / 2, band, tones);
    }
    const space = (this.width - this.gutter()) / Math.max(1, last - first);
    let labelled = -Infinity;
    for (let i = first; i < last; i++) {
      const row = lane.rows[i];
      const x = this.x(this.middle(process, row));
      if (x < this.gutter() - 10) continue;
      const word = wordFor(this.model, process, row);
      context.globalAlpha = mask && !mask[row] ? 0.12 : 1;
      const marked = this.marked.get(number)?.has(row);
      const fault = !depth && process.faults.has(row);
      const size = (depth ? 11 : 16) * (space < 14 ? 0.75 : 1);
      if (!depth || !strip.members || process.kind[row] !== -1) {
        drawGlyph(context, word, x, band.y + band.height / 2, size, fault ? tones.bad : tones.text, tones.page);
      }
      if (!depth && (marked || fault)) this.ring(context, x, band, fault ? tones.bad : tones.accent);
      if (this.selected?.row === row && this.selected.process === number && !depth) this.pointer(context, x, band, tones);
      if (!depth && space > 16) {
        const place = placeOf(this.model, process, row);
        const label = `${word === "events" ? eventsIn(process, row) + " events" : word} ${place.slice(place.lastIndexOf(":"))}`;
        context.font = `${fault ? "700 " : ""}11px system-ui, sans-serif`;
        const wide = context.measureText(label).width;
        if (x - wide / 2 > Math.max(labelled + 6, this.gutter())) {
          context.fillStyle = fault ? tones.bad : tones.faint;
          context.fillText(label, x - wide / 2, band.y + band.height + 14);
          labelled = x + wide / 2;
        }
      }
      context.globalAlpha = 1;
    }
  }

  paintContent(context, content, x, band, tones) {
    const label = content === "doomed" ? "lost" : content;
    context.font = "600 11px system-ui, sans-serif";
    const wide = context.measureText(label).width + 8;
    context.fillStyle = tones.page;
    context.fillRect(x - wide / 2, band.y + 4, wide, band.height - 8);
    context.fillStyle = tones.text;
    context.textAlign = "center";
    context.fillText(label, x, band.y + 15);
    context.textAlign = "left";
  }

  ring(context, x, band, colour) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x - 11, band.y - 4, 22, band.height + 8);
    context.lineWidth = 1;
  }

  pointer(context, x, band, tones) {
    context.fillStyle = tones.accent;
    context.beginPath();
    context.moveTo(x, band.y - 3);
    context.lineTo(x - 6, band.y - 13);
    context.lineTo(x + 6, band.y - 13);
    context.fill();
  }

  // More events than pixels: each pixel shows the content that matters most, and how many events pass.
  paintDense(context, strip, process, first, last, held, band, tones) {
    const { lane, depth } = strip;
    const left = this.gutter();
    const columns = Math.max(1, Math.ceil(this.width - left));
    const worst = new Int8Array(columns).fill(-1);
    const faults = new Uint8Array(columns);
    const mask = this.masks && this.masks[lane.process];
    const shown = new Uint8Array(columns);
    for (let i = first; i < last; i++) {
      const row = lane.rows[i];
      const at = Math.floor(this.x(this.middle(process, row)) - left);
      if (at < 0 || at >= columns) continue;
      const weight = TELLING.indexOf(held(i));
      if (weight > worst[at]) worst[at] = weight;
      if (!mask || mask[row]) shown[at] = 1;
      if (process.faults.has(row)) faults[at] = 1;
    }
    for (let column = 0, now = 0; column < columns; ) {
      if (worst[column] >= 0) now = worst[column];
      let end = column + 1;
      while (end < columns && (worst[end] < 0 || worst[end] === now)) end++;
      drawBand(context, TELLING[now], left + column, band.y, end - column, band.height, tones, this.hatch);
      column = end;
    }
    if (depth) return;
    for (let column = 0; column < columns; column++) {
      context.fillStyle = faults[column] ? tones.bad : tones.faint;
      if (faults[column]) context.fillRect(left + column - 1, band.y - 9, 3, 8);
      if (mask && shown[column]) context.fillRect(left + column, band.y + band.height + 3, 1, 5);
    }
  }

  paintName(context, strip, tones, narrow) {
    const { lane, y, depth, name } = strip;
    const indent = 8 + depth * 12;
    context.fillStyle = depth ? tones.faint : tones.text;
    context.font = `${depth ? "" : "600 "}${depth ? 12 : 13}px system-ui, sans-serif`;
    const canOpen = !depth && lane.parts.some((part) => part.size);
    const label = `${canOpen ? (this.open.has(lane.number) ? "\u25be " : "\u25b8 ") : ""}${name}`;
    if (narrow) {
      if (!depth) context.fillText(fitText(context, label, this.width - 20), indent, y + 14);
      return;
    }
    context.fillText(fitText(context, label, this.gutter() - indent - 6), indent, y + (depth ? 17 : 29));
    if (depth) return;
    context.fillStyle = tones.faint;
    context.font = "12px system-ui, sans-serif";
    const skips = lane.skips ? `, ${lane.skips} skipped` : "";
    context.fillText(fitText(context, `${lane.steps.toLocaleString("en")} steps${skips}`, this.gutter() - indent - 6), indent, y + 46);
  }

  paintOverview(tones) {
    const view = this.view;
    const width = this.width;
    const context = this.fit(this.overview, 26);
    const [least, most] = this.range();
    this.view = [least, most];
    const height = Math.max(2, Math.min(18, 22 / this.model.lanes.length));
    this.model.lanes.forEach((lane, i) => {
      if ((i + 1) * height > 24) return;
      const process = this.model.processes[lane.process];
      const held = (j) => (lane.doomed[j] ? "doomed" : this.model.contents[process.content[lane.rows[j]]]);
      const band = { y: 2 + i * height, height: height - 1 };
      this.paintDense(context, { lane, depth: 1 }, process, 0, lane.rows.length, held, band, tones);
    });
    this.view = view;
    const left = this.gutter() + 6;
    const scale = (width - left - 6) / (most - least);
    context.fillStyle = tones.accent;
    for (const process of this.model.processes) {
      for (const row of process.faults.keys()) {
        this.view = [least, most];
        context.fillStyle = tones.bad;
        context.fillRect(this.x(this.middle(process, row)) - 1, 21, 2, 5);
        this.view = view;
      }
    }
    context.strokeStyle = tones.accent;
    context.lineWidth = 2;
    const from = left + (view[0] - least) * scale;
    context.strokeRect(from, 1, Math.max(3, (view[1] - view[0]) * scale), 24);
    context.fillStyle = tones.faint;
    context.font = "12px system-ui, sans-serif";
    if (this.gutter()) context.fillText("the whole run", 8, 17);
    this.width = width;
  }

  // Listening

  listen() {
    const { canvas, overview } = this;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = { x: event.offsetX, view: [...this.view], moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const by = event.offsetX - from.x;
      if (Math.abs(by) > 3) from.moved = true;
      if (!from.moved) return;
      canvas.classList.add("dragging");
      const scale = (from.view[1] - from.view[0]) / (this.width - this.gutter() - 12);
      this.look(from.view[0] - by * scale, from.view[1] - by * scale);
    });
    const end = (event) => {
      if (from && !from.moved && event.type === "pointerup") this.click(event.offsetX, event.offsetY);
      from = null;
      canvas.classList.remove("dragging");
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) {
          event.preventDefault();
          this.zoom(Math.exp((event.deltaY || event.deltaX) * 0.002), this.positionAt(event.offsetX));
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          event.preventDefault();
          this.pan(event.deltaX / this.width);
        }
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.positionAt(event.offsetX)));
    overview.addEventListener("pointerdown", (event) => {
      const [least, most] = this.range();
      const left = this.gutter() + 6;
      const at = least + ((event.offsetX - left) / (this.width - left - 6)) * (most - least);
      const span = this.view[1] - this.view[0];
      this.look(at - span / 2, at + span / 2);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  click(x, y) {
    const strip = this.strips.find((one) => y >= one.y && y < one.y + one.height);
    if (!strip) return;
    const onName = this.gutter() ? x < this.gutter() : strip.depth === 0 && y < strip.y + 18;
    if (onName && strip.depth === 0) return this.toggle(strip.lane.number);
    const { lane } = strip;
    const process = this.model.processes[lane.process];
    const i = this.rowsBefore(lane, process, this.positionAt(x));
    const near = [lane.rows[i - 1], lane.rows[i]].filter((row) => row !== undefined);
    if (!near.length) return;
    near.sort((a, b) => Math.abs(this.x(this.middle(process, a)) - x) - Math.abs(this.x(this.middle(process, b)) - x));
    this.select(lane.process, near[0], { scroll: false });
  }
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
