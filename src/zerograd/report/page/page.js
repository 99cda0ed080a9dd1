// The page: puts the parts in their places and lets them speak to each other.

import { decode, drawn, involved, matching, many, WORDS } from "./model.js";
import { CONTENTS, GLYPHS, MARKS, element, glyphElement } from "./draw.js";
import { KEYS, press } from "./keys.js";
import { Timeline } from "./timeline.js";
import { charts, constants, missing } from "./charts.js";
import { findings } from "./findings.js";
import { listen, meaning } from "./tip.js";
import { PAGE, eventTable, laneName, parameterTable, rankDifferences, rankTable } from "./tables.js";

const byId = (id) => document.getElementById(id);

function start() {
  const model = decode(JSON.parse(byId("data").textContent));
  const page = new Page(model);
  page.fill();
  document.documentElement.dataset.ready = "yes";
}

class Page {
  constructor(model) {
    this.model = model;
    this.filter = { text: "", lane: -1, without: new Set(), faults: false };
    this.masks = null;
    this.first = 0;
    this.finding = -1;
  }

  fill() {
    this.fillHead();
    byId("finding-list").replaceChildren(...findings(this.model, (number, time) => this.showFinding(number, time)));
    this.timeline = new Timeline(this.model, byId("lanes"), byId("overview"), (told, process, row) =>
      this.selected(told, process, row),
    );
    listen(this.timeline, byId("tip"));
    this.fillTools();
    this.fillFilters();
    this.fillCharts();
    parameterTable(this.model, byId("parameter-table"), byId("parameters-told"));
    if (this.model.processes.length > 1) this.fillRanks();
    this.listen();
    this.begin();
    this.fillLegend();
  }

  fillHead() {
    const { verdict, processes, events, bundle } = this.model;
    byId("verdict").textContent = verdict.sentence;
    byId("verdict").dataset.tone = verdict.tone;
    if (verdict.sentence.length > 90) byId("verdict").dataset.long = "yes";
    byId("edit").hidden = !verdict.edit;
    byId("edit-told").textContent = verdict.edit;
    byId("also").textContent = verdict.also;
    const [first] = processes;
    const about = [
      first.script,
      first.began,
      processes.length > 1 ? many(processes.length, "process").replace("processs", "processes") : "",
      many(events, "event"),
    ];
    byId("about").textContent = about.filter(Boolean).join(" \u00b7 ");
    const sign = { bad: "\u2717", part: "!", note: "!", possible: "?", none: "?" }[verdict.tone] || "\u2713";
    document.title = `${sign} ${first.script || "zerograd"}: zerograd report`;
    byId("bundled").hidden = bundle === 1;
    byId("bundled").textContent =
      `This run has ${many(events, "event")}, more than a page can hold one by one. The timeline shows them in bundles of ${bundle}, each with the worst content in it; single events are kept at both ends and around the first times of every finding. Counts, charts and findings are of all of them.`;
    byId("foot").textContent =
      "Made by zerograd from a trace of the run. This file needs no network and sends nothing anywhere. Press ? for keys.";
  }

  // Every mark that the picture shows, and no other.
  fillLegend() {
    this.drawn = this.drawn || drawn(this.model);
    const { contents, words } = this.drawn;
    const { marked, selected } = this.timeline;
    const key = (content) => element("span", { className: "key", data: { content } });
    const mark = (name) => element("span", { className: "mark", data: { mark: name } });
    const shown = { fault: this.model.processes.some((one) => one.faults.size), led: marked.size, chosen: selected };
    const groups = {
      "In the gradients": Object.keys(CONTENTS)
        .filter((content) => contents.has(content))
        .map((content) => [key(content), CONTENTS[content]]),
      Events: Object.keys(GLYPHS)
        .filter((word) => words.has(word))
        .map((word) => [glyphElement(word), GLYPHS[word].says]),
      Marks: Object.keys(MARKS)
        .filter((name) => shown[name])
        .map((name) => [mark(name), MARKS[name]]),
    };
    byId("legend").replaceChildren(
      ...Object.entries(groups)
        .filter(([, items]) => items.length)
        .map(([name, items]) =>
          element(
            "li",
            {},
            element("strong", {}, name),
            element("ul", { "aria-label": name }, ...items.map((item) => element("li", {}, ...item))),
          ),
        ),
    );
  }

  fillTools() {
    const { timeline } = this;
    byId("zoom-in").addEventListener("click", () => timeline.zoom(0.5));
    byId("zoom-out").addEventListener("click", () => timeline.zoom(2));
    byId("zoom-all").addEventListener("click", () => timeline.all());
    byId("axis").disabled = !this.model.processes.some((process) => process.at);
    byId("axis").addEventListener("change", (event) => timeline.setAxis(event.target.value));
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    byId("help-keys").replaceChildren(
      ...KEYS.flatMap(([keys, says]) => [element("dt", {}, element("kbd", {}, keys)), element("dd", {}, says)]),
    );
  }

  fillFilters() {
    const { model } = this;
    const everyone = element("option", { value: "-1" }, "all");
    byId("filter-lane").replaceChildren(
      everyone,
      ...model.lanes.map((lane) => element("option", { value: String(lane.number) }, laneName(model, lane))),
    );
    const used = new Set(model.processes.flatMap((process) => process.shapes.map((shape) => shape[1])));
    model.kinds.forEach((name, kind) => {
      if (!used.has(kind)) return;
      const box = element("input", { type: "checkbox", checked: true, value: String(kind) });
      byId("filter-kinds").append(element("label", {}, box, ` ${WORDS[name] || name}`));
    });
    const change = () => this.refilter();
    byId("filters").addEventListener("input", change);
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("events").addEventListener("toggle", () => this.fillEvents());
    byId("events-before").addEventListener("click", () => this.turn(-PAGE));
    byId("events-after").addEventListener("click", () => this.turn(PAGE));
  }

  refilter() {
    const boxes = [...byId("filter-kinds").querySelectorAll("input")];
    const without = new Set(boxes.filter((box) => !box.checked).map((box) => Number(box.value)));
    this.filter = {
      text: byId("filter-text").value.trim(),
      lane: Number(byId("filter-lane").value),
      without,
      faults: byId("filter-faults").checked,
    };
    const none = !this.filter.text && this.filter.lane < 0 && !without.size && !this.filter.faults;
    this.masks = none ? null : this.model.processes.map((_, number) => matching(this.model, number, this.filter));
    this.timeline.masks = this.masks;
    this.timeline.draw();
    const kept = none ? 0 : this.masks.reduce((total, mask) => total + mask.reduce((sum, one) => sum + one, 0), 0);
    byId("filter-count").textContent = none ? "" : `${many(kept, "event")} shown`;
    this.first = 0;
    this.fillEvents();
  }

  fillEvents() {
    if (!byId("events").open) return;
    const total = eventTable(
      this.model,
      byId("event-table"),
      this.masks,
      this.first,
      this.timeline.selected,
      (process, row) => this.timeline.select(process, row),
    );
    byId("events-range").textContent = total
      ? `${(this.first + 1).toLocaleString("en")} to ${Math.min(total, this.first + PAGE).toLocaleString("en")} of ${total.toLocaleString("en")}`
      : "none";
    byId("events-before").disabled = this.first === 0;
    byId("events-after").disabled = this.first + PAGE >= total;
  }

  turn(by) {
    this.first = Math.max(0, this.first + by);
    this.fillEvents();
  }

  fillCharts() {
    const { model } = this;
    byId("chart-lane").replaceChildren(
      ...model.lanes.map((lane) => element("option", { value: String(lane.number) }, laneName(model, lane))),
    );
    const worst = model.findings.find((finding) => finding.fails && finding.rows.length);
    const lane = worst ? model.processes[worst.rows[0][0]].lane[worst.rows[0][1]] : 0;
    byId("chart-lane").value = String(lane);
    byId("chart-lane").addEventListener("change", () => this.drawCharts());
    this.drawCharts();
  }

  drawCharts() {
    const lane = this.model.lanes[Number(byId("chart-lane").value)];
    if (!lane) return;
    const lacking = missing(lane);
    byId("chart-list").replaceChildren(...charts(lane));
    byId("charts-told").textContent = constants(lane);
    if (lacking.length) {
      const command = element("code", {}, "zerograd run --mode full");
      byId("charts-told").append(` No numbers for ${lacking.join(", ")}: record them with `, command, ".");
    }
  }

  fillRanks() {
    byId("ranks").hidden = false;
    rankTable(this.model, byId("rank-table"));
    byId("rank-differences").replaceChildren(
      ...rankDifferences(this.model, (one) => {
        if (!one.rows.length) return;
        this.timeline.marked = new Map(one.rows.map(([process, row]) => [process, new Set([row])]));
        this.timeline.show(one.rows[0][0], [one.rows[0][1]], 14);
        this.fillLegend();
        byId("timeline").scrollIntoView();
      }),
    );
  }

  // Where a reader looks first: at the first finding, or at the beginning.
  begin() {
    const worst = this.model.findings.find((finding) => finding.rows.length); // they come in the order of their weight
    if (worst) {
      const [process, row] = worst.rows[0];
      const rows = involved(this.model, process, row);
      this.timeline.mark(process, rows);
      this.timeline.show(process, rows, 8);
    } else this.timeline.look(-1, Math.max(6, this.timeline.canvas.clientWidth / 44)); // legible
  }

  showFinding(number, time) {
    this.finding = number;
    const [process, row] = this.model.findings[number].rows[time];
    const rows = involved(this.model, process, row);
    this.timeline.mark(process, rows);
    this.timeline.show(process, rows);
    this.timeline.select(process, row);
    byId("timeline").scrollIntoView({ block: "start" });
    byId("lanes").focus({ preventScroll: true });
  }

  selected(told, process, row) {
    byId("selected").textContent = [told, meaning(this.model, process, row)].filter(Boolean).join(". ");
    const fault = this.model.processes[process].faults.get(row);
    if (fault !== undefined) {
      const finding = this.model.findings[fault];
      const link = element("a", { href: `#finding-${fault}` }, `${finding.code} ${finding.name}`);
      byId("selected").append(". ", link);
    }
    this.fillLegend();
    this.fillEvents();
  }

  // Keys

  listen() {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
      const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) && event.target.type !== "checkbox";
      if (typing && event.key !== "Escape") return;
      const done = press(this, event.key, event.target === byId("lanes"));
      if (done) event.preventDefault();
    });
  }

  nextFinding(by) {
    const known = this.model.findings
      .map((finding, number) => (finding.rows.length ? number : -1))
      .filter((number) => number >= 0);
    if (!known.length) return;
    const now = known.indexOf(this.finding);
    this.showFinding(known[(now + by + known.length + (now < 0 && by < 0 ? 1 : 0)) % known.length], 0);
  }

  nextFault(by) {
    const { selected } = this.timeline;
    const all = this.model.processes.flatMap((process, number) =>
      [...process.faults.keys()].sort((a, b) => a - b).map((row) => [number, row]),
    );
    if (!all.length) return;
    const after = selected
      ? all.findIndex(
          ([process, row]) => process > selected.process || (process === selected.process && row >= selected.row),
        )
      : -1;
    const here = after >= 0 && selected && all[after][0] === selected.process && all[after][1] === selected.row;
    const next = by > 0 ? after + (here ? 1 : 0) : (after < 0 ? all.length : after) - 1;
    const [process, row] = all[(next + all.length) % all.length];
    this.timeline.select(process, row);
  }
}

start();
