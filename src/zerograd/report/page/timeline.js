// The timeline: one lane for each optimizer, its content as a band, its events as shapes upon it.

import { describe, firstFrom, follow } from "./model.js";
import { paint } from "./painting.js";
import { layout } from "./strips.js";

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

  // How many rows of a lane lie before a position.
  rowsBefore(lane, process, position) {
    return firstFrom(lane.rows, position, (row) => this.middle(process, row));
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
    const fitting = Math.max(last - first + 3, Math.min(last - first + 2 * margin, this.canvas.clientWidth / 56)); // legible
    const middle = (first + last) / 2;
    this.look(middle - fitting / 2, middle + fitting / 2);
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
        const i = Math.min(lane.rows.length - 1, this.rowsBefore(lane, process, this.view[0]));
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

  // The lane of what is selected, or the first.
  lane() {
    return this.selected ? this.model.processes[this.selected.process].lane[this.selected.row] : 0;
  }

  // The lane above or below, at about the same place.
  change(by) {
    const lane = this.model.lanes[this.lane() + by];
    if (!lane || !lane.rows.length) return;
    const process = this.model.processes[lane.process];
    const here = this.selected ? this.middle(this.model.processes[this.selected.process], this.selected.row) : 0;
    const i = Math.min(lane.rows.length - 1, this.rowsBefore(lane, process, here));
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
      paint(this);
    });
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
    for (const moment of ["beforeprint", "afterprint"]) window.addEventListener(moment, () => paint(this)); // paper is light
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  strip(y) {
    return this.strips.find((one) => y >= one.y && y < one.y + one.height);
  }

  onName(strip, x, y) {
    return this.gutter() ? x < this.gutter() : strip.depth === 0 && y < strip.y + 18;
  }

  // The event of the lane at this place that is next to it, if it is no further than `within` pixels.
  near(x, y, within = Infinity) {
    const strip = this.strip(y);
    if (!strip || this.onName(strip, x, y)) return null;
    const { lane } = strip;
    const process = this.model.processes[lane.process];
    const i = this.rowsBefore(lane, process, this.positionAt(x));
    const away = (row) => Math.abs(this.x(this.middle(process, row)) - x);
    const rows = [lane.rows[i - 1], lane.rows[i]].filter((row) => row !== undefined && away(row) <= within);
    rows.sort((a, b) => away(a) - away(b));
    return rows.length ? { process: lane.process, row: rows[0] } : null;
  }

  click(x, y) {
    const strip = this.strip(y);
    if (strip && this.onName(strip, x, y) && strip.depth === 0) return this.toggle(strip.lane.number);
    const found = this.near(x, y);
    if (found) this.select(found.process, found.row, { scroll: false });
  }
}
