// Findings as cards: what happened, in the user's own lines and in the order of the events that led to it.

import { firstFrom, involved, wordFor, placeOf, many } from "./model.js";
import { element, glyphElement } from "./draw.js";

export function findings(model, show) {
  const all = model.findings.map((finding, number) => ({ finding, number }));
  const faults = all.filter(({ finding }) => finding.fails);
  // Without a fault, what is certain and only costs something is worth a look.
  const shown = faults.length ? faults : all.filter(({ finding }) => finding.certainty === "certain");
  const rest = all.filter((one) => !shown.includes(one));
  const cards = shown.map(({ finding, number }) => card(model, finding, number, show));
  if (!shown.length) cards.push(element("p", {}, "No fault was found."));
  if (rest.length) {
    const more = element(
      "details",
      { id: "less" },
      element("summary", {}, many(rest.length, "note or possible fault")),
    );
    more.append(...rest.map(({ finding, number }) => card(model, finding, number, show)));
    cards.push(more);
  }
  return cards;
}

function card(model, finding, number, show) {
  const times = finding.times.reduce((a, b) => a + b, 0);
  const sure = finding.certainty === "possible" ? "possible " : "";
  const place = finding.cell ? `cell ${finding.cell}, line ${finding.line}` : `${finding.path}:${finding.line}`;
  const ranks =
    model.processes.length > 1
      ? ` (${model.processes
          .filter((_, i) => finding.times[i])
          .map((one) => one.name)
          .join(", ")})`
      : "";
  const title = element(
    "h3",
    {},
    element("span", { className: "code" }, finding.code),
    element("bdi", {}, finding.message),
  );
  const made = element(
    "article",
    {
      className: "finding",
      id: `finding-${number}`,
      data: { severity: finding.severity, certainty: finding.certainty },
    },
    title,
  );
  made.append(
    element(
      "p",
      { className: "place" },
      `${sure}${finding.severity} ${finding.name}, `,
      element("bdi", {}, place),
      `, seen ${times === 1 ? "once" : `${times.toLocaleString("en")} times`}${ranks}`,
    ),
  );
  if (finding.rows.length) made.append(chain(model, finding, ...finding.rows[0]));
  made.append(...finding.source.map((source) => excerpt(source, finding)));
  if (finding.cure) made.append(element("p", { className: "cure" }, element("bdi", {}, finding.cure)));
  if (finding.why) made.append(element("p", {}, finding.why));
  if (finding.rows.length) made.append(occurrences(finding, number, show));
  return made;
}

// The events in order, and between them what lay in the gradients.
export function chain(model, finding, number, row) {
  const process = model.processes[number];
  const list = element("ol", { className: "chain", "aria-label": "The events that led to it" });
  const rows = involved(model, number, row);
  rows.forEach((one, i) => {
    const lane = model.lanes[process.lane[one]];
    const lost = lane.doomed[firstFrom(lane.rows, one)];
    const content = lost ? "lost" : model.contents[process.content[one]];
    const place = placeOf(model, process, one);
    const chip = element(
      "span",
      { className: "event" },
      glyphElement(wordFor(model, process, one)),
      wordFor(model, process, one),
      element("small", {}, place.slice(place.lastIndexOf(":"))),
    );
    const site = model.sites[process.site[one]];
    const part = site && finding.related.find(([path, line]) => path === site[0] && line === site[1]);
    if (part && one !== row) chip.append(element("em", {}, part[2]));
    const item = element("li", { className: one === row ? "fault" : "" }, chip);
    const last = i === rows.length - 1;
    if (!last || lost)
      item.append(element("span", { className: "then", data: { content } }, content === "new" ? "empty" : content));
    list.append(item);
  });
  return list;
}

function occurrences(finding, number, show) {
  let at = 0;
  const told = element("span", { role: "status" });
  const times = finding.times.reduce((a, b) => a + b, 0);
  const go = (by) => {
    at = (at + by + finding.rows.length) % finding.rows.length;
    told.textContent = `${at + 1} of ${times.toLocaleString("en")}${times > finding.rows.length ? ` (the first ${finding.rows.length} are kept)` : ""}`;
    show(number, at);
  };
  const open = element("button", { type: "button", className: "show" }, "Show in the timeline");
  open.addEventListener("click", () => go(0));
  const tools = element("p", { className: "tools" }, open);
  if (finding.rows.length > 1) {
    for (const [label, by] of [
      ["Previous time", -1],
      ["Next time", 1],
    ]) {
      const button = element("button", { type: "button" }, label);
      button.addEventListener("click", () => go(by));
      tools.append(button);
    }
  }
  tools.append(told);
  return tools;
}

function excerpt(source, finding) {
  const made = element("pre", { className: "excerpt", tabIndex: 0, "aria-label": `Lines of ${source.path}` });
  for (const [number, text, role] of source.lines) {
    const here = number === finding.line && source.path === finding.path;
    const words = !role ? "" : here ? "\u2190 the finding is here" : `\u2190 ${role}`;
    const line = element("div", { className: `${role ? "told" : ""} ${here ? "here" : ""}` });
    line.append(
      element("span", { className: "number" }, number ? String(number) : "\u22ee"),
      element("bdi", {}, text),
      element("span", { className: "role" }, words),
    );
    made.append(line);
  }
  if (source.changed)
    made.append(
      element(
        "div",
        {},
        element("span", { className: "number" }, "!"),
        `${source.path} was changed after this run began: lines may have moved`,
      ),
    );
  return made;
}
