// Findings as cards: what happened, in the user's own lines and in the order of the events that led to it.

import { many } from "./model.js";
import { chain } from "./chain.js";
import { element } from "./draw.js";

export function findings(model, show) {
  const all = model.findings.map((finding, number) => ({ finding, number }));
  const faults = all.filter(({ finding }) => finding.fails);
  // Without a fault, what is certain and only costs something is worth a look; without that, what is possible.
  const sure = all.filter(({ finding }) => finding.certainty === "certain");
  const shown = faults.length ? faults : sure.length ? sure : all;
  const rest = all.filter((one) => !shown.includes(one));
  const cards = shown.map(({ finding, number }) => card(model, finding, number, show, number === 0));
  if (!shown.length) cards.push(element("p", {}, "No fault was found."));
  if (rest.length) {
    const more = element(
      "details",
      { id: "less" },
      element("summary", {}, sorts(rest.map(({ finding }) => finding))),
    );
    more.append(...rest.map(({ finding, number }) => card(model, finding, number, show)));
    cards.push(more);
  }
  return cards;
}

function sorts(findings) {
  const possible = findings.filter((finding) => finding.certainty === "possible").length;
  const notes = findings.length - possible;
  const told = [notes && many(notes, "note"), possible && `${possible} possible`];
  return told.filter(Boolean).join(" and ");
}

// `first`: its cause and its cure stand above everything, as the verdict.
function card(model, finding, number, show, first = false) {
  const times = finding.times.reduce((a, b) => a + b, 0);
  const sure = finding.certainty === "possible" ? "possible " : "";
  const place = finding.cell ? `cell ${finding.cell}, line ${finding.line}` : `${finding.path}:${finding.line}`;
  const ranks = model.processes.filter((_, i) => finding.times[i]).map((one) => one.name);
  const where = model.processes.length > 1 ? ` (${ranks.join(", ")})` : "";
  const title = element(
    "h3",
    {},
    element("span", { className: "code" }, finding.code),
    " ",
    element("bdi", {}, finding.name),
    " ",
    element(
      "span",
      { className: "place" },
      `${sure}${finding.severity} at `,
      element("bdi", {}, place),
      `, seen ${times === 1 ? "once" : `${times.toLocaleString("en")} times`}${where}`,
    ),
  );
  const data = { severity: finding.severity, certainty: finding.certainty };
  const made = element("article", { className: "finding", id: `finding-${number}`, data }, title);
  const cut = first ? finding.message.indexOf(";") : -1;
  const said = !first ? finding.message : cut < 0 ? "" : finding.message.slice(cut + 1).trim();
  if (said) made.append(element("p", { className: first ? "" : "said" }, element("bdi", {}, said)));
  if (finding.rows.length) made.append(...chain(model, finding, ...finding.rows[0]));
  made.append(...finding.source.map((source) => excerpt(source, finding)));
  if (!first && finding.cure) made.append(element("p", { className: "cure" }, element("bdi", {}, finding.cure)));
  if (!first && finding.why) made.append(element("p", {}, finding.why));
  if (finding.rows.length) made.append(occurrences(finding, number, show));
  return made;
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
  const name = `Lines of ${source.path}`;
  const made = element("pre", { className: "excerpt", tabIndex: 0, role: "region", "aria-label": name });
  for (const [number, text, role] of source.lines) {
    const here = number === finding.line && source.path === finding.path;
    const words = role ? `\u2190 ${role}` : "";
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
