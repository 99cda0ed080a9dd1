// Tables: events for those who do not see the canvas, parameters, and ranks side by side.

import { wordFor, placeOf, eventsIn, short, seconds, many, shown } from "./model.js";
import { element } from "./draw.js";

export const PAGE = 100;

function head(...titles) {
  return element("thead", {}, element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title))));
}

// A page of the events that the filter lets through, from `first` on. Returns how many there are.
export function eventTable(model, table, masks, first, selected, select) {
  const body = element("tbody");
  let seen = 0;
  const several = model.processes.length > 1;
  model.processes.forEach((process, number) => {
    const mask = masks && masks[number];
    for (let row = 0; row < process.size; row++) {
      if (mask && !mask[row]) continue;
      if (seen >= first && seen < first + PAGE) body.append(eventRow(model, number, row, several, selected, select));
      seen += 1;
    }
  });
  table.replaceChildren(
    head("event", ...(several ? ["rank"] : []), "optimizer", "what", "call", "place", "content after", "numbers"),
    body,
  );
  return seen;
}

function eventRow(model, number, row, several, selected, select) {
  const process = model.processes[number];
  const chosen = selected && selected.process === number && selected.row === row;
  const button = element(
    "button",
    { type: "button", title: "Show in the timeline" },
    (process.start[row] + 1).toLocaleString("en"),
  );
  button.addEventListener("click", () => select(number, row));
  const numbers = Object.entries(process.numbers)
    .filter(([, values]) => !Number.isNaN(values[row]))
    .map(([name, values]) => `${name} ${name === "took" ? seconds(values[row]) : short(values[row])}`);
  const word = process.kind[row] < 0 ? many(eventsIn(process, row), "event") : wordFor(model, process, row);
  const fault = process.faults.get(row);
  const cells = [
    ...(several ? [process.name] : []),
    model.lanes[process.lane[row]].title,
    fault === undefined ? word : `${word} (${model.findings[fault].code})`,
    model.calls[process.what[row]] || "",
    placeOf(model, process, row),
    shown(model.contents[process.content[row]], process.kind[row] < 0),
    numbers.join(", "),
  ].map((text) => element("td", {}, text));
  const made = element(
    "tr",
    { className: fault === undefined ? "" : "bad", "aria-current": String(Boolean(chosen)) },
    element("td", {}, button),
    ...cells,
  );
  return made;
}

const FATE = "what becomes of it";
const COLUMNS = [
  ["parameters", (one) => one.name],
  ["optimizer", (one) => one.slot],
  [FATE, (one) => one.fate],
  ["deposits", (one) => one.fed],
  ["steps that used it", (one) => one.used],
  ["steps without it", (one) => one.starved],
  ["lost", (one) => one.lost],
];

// Parameters that fare alike share a row. Every column sorts.
export function parameterTable(model, table, told) {
  const rows = model.lanes.flatMap((lane) =>
    lane.parts
      .filter((part) => part.size)
      .map((part) => ({ ...part, slot: laneName(model, lane), name: nameOf(part) })),
  );
  const bad = rows.filter((row) => row.fate);
  const columns = COLUMNS.filter(([title]) => bad.length || title !== FATE);
  told.textContent = !rows.length
    ? "This trace does not say which parameters there are."
    : bad.length
      ? bad
          .map((row) => `${row.name} ${row.fate}`)
          .slice(0, 4)
          .join("; ") + (bad.length > 4 ? "; ..." : "")
      : "All of them get gradients, and a step uses them.";
  table.hidden = !rows.length;
  let order = bad.length ? 2 : 0;
  let down = bad.length > 0;
  const numeric = (get) => typeof get(rows[0]) === "number";
  const render = () => {
    const value = columns[order][1];
    rows.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1));
    const titles = columns.map(([title, get], i) => {
      const button = element("button", { type: "button" }, title + (i === order ? (down ? " \u2193" : " \u2191") : ""));
      button.addEventListener("click", () => {
        down = i === order ? !down : numeric(get);
        order = i;
        render();
        table.querySelectorAll("th button")[i].focus();
      });
      const title_ = element("th", { scope: "col", className: numeric(get) ? "number" : "" }, button);
      title_.setAttribute("aria-sort", i === order ? (down ? "descending" : "ascending") : "none");
      return title_;
    });
    const lines = rows.map((row) =>
      element(
        "tr",
        { className: row.fate ? "bad" : "" },
        ...columns.map(([, get]) =>
          element(
            "td",
            { className: numeric(get) ? "number" : "" },
            numeric(get) ? get(row).toLocaleString("en") : get(row),
          ),
        ),
      ),
    );
    table.replaceChildren(element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...lines));
  };
  if (rows.length) render();
}

function nameOf(part) {
  const shown = part.names.slice(0, 3).join(", ");
  return part.size > 3 ? `${shown} and ${part.size - 3} more` : shown;
}

export function laneName(model, lane) {
  return model.processes.length > 1 ? `${model.processes[lane.process].name}: ${lane.title}` : lane.title;
}

// One row for each rank, every number that is not like the others marked.
export function rankTable(model, table) {
  const rows = model.processes.map((process, number) => {
    const lanes = model.lanes.filter((lane) => lane.process === number);
    const sum = (name) => lanes.reduce((total, lane) => total + lane[name], 0);
    const faults = model.findings
      .filter((finding) => finding.fails)
      .reduce((total, finding) => total + finding.times[number], 0);
    return [
      process.name,
      process.events,
      lanes.length,
      sum("deposits"),
      sum("steps"),
      sum("clears"),
      sum("skips"),
      faults,
    ];
  });
  const usual = rows[0].map((_, column) => common(rows.map((row) => row[column])));
  const lines = rows.map((row) =>
    element(
      "tr",
      {},
      ...row.map((value, i) => {
        const differs = i > 0 && (usual[i] === undefined || value !== usual[i]);
        const text = typeof value === "number" ? value.toLocaleString("en") : value;
        return element(
          i ? "td" : "th",
          { className: i ? `number${differs ? " differs" : ""}` : "", ...(i ? {} : { scope: "row" }) },
          differs ? `${text} \u2260` : text,
        );
      }),
    ),
  );
  table.replaceChildren(
    head("", "events", "optimizers", "backwards", "steps", "clears", "skips", "faults"),
    element("tbody", {}, ...lines),
  );
}

// What most of these are; undefined if there is no such thing.
export function common(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  const [value, most] = [...counts].sort((a, b) => b[1] - a[1])[0];
  return most * 2 > values.length ? value : undefined;
}

export function rankDifferences(model, show) {
  if (!model.differences.length) return [element("p", {}, "Every rank did the same, step by step.")];
  return model.differences.map((one) => {
    const first = model.lanes[one.lanes[0]];
    const said = `${first.title}: ranks differ in ${one.steps.toLocaleString("en")} of ${many(first.steps, "step")}, first in step ${one.first.toLocaleString("en")}:`;
    const list = element(
      "ul",
      {},
      ...one.did.map((did, i) =>
        element("li", {}, element("strong", {}, model.processes[model.lanes[one.lanes[i]].process].name), `: ${did}`),
      ),
    );
    const button = element("button", { type: "button" }, "Show in the timeline");
    button.addEventListener("click", () => show(one));
    return element("div", { className: "notice" }, said, list, button);
  });
}
