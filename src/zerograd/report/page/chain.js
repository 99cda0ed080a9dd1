// The events of a fault as a row of chips, what lies in the gradients between them, and the row as it should be.

import { firstFrom, held, involved, placeOf, shown, wordFor } from "./model.js";
import { element, glyphElement } from "./draw.js";

export function chain(model, finding, number, row) {
  const links = linked(model, finding, number, row);
  const mended = mend(model, links, finding.code);
  return mended ? [render(links, "As is"), render(mended, "Should be")] : [render(links, "Events")];
}

function linked(model, finding, number, row) {
  const process = model.processes[number];
  return involved(model, number, row).map((one) => {
    const lane = model.lanes[process.lane[one]];
    const place = placeOf(model, process, one);
    return {
      kind: process.kind[one],
      word: wordFor(model, process, one),
      line: place.slice(place.lastIndexOf(":")),
      content: held(model, lane, firstFrom(lane.rows, one)),
      fault: one === row,
    };
  });
}

// What the links would be with the clear where it belongs; null where that is not what is wrong.
export function mend(model, links, code) {
  const [clear, deposit, consume] = ["clear", "deposit", "consume"].map((name) => model.kinds.indexOf(name));
  const first = links.findIndex((link) => link.kind === deposit);
  const misplaced = links.some((link, i) => i > first && link.kind === clear);
  const known = code === "ZG002" ? misplaced : ["ZG001", "ZG005", "ZG006", "ZG007"].includes(code);
  if (first < 0 || !known || links.at(-1).kind !== consume) return null;
  const added = { kind: clear, word: "clear", line: "", added: misplaced ? "moved here" : "added" };
  const kept = links.slice(first).filter((link) => !misplaced || link.kind !== clear);
  let now = model.contents.indexOf(links[0].kind === consume ? links[0].content : "empty");
  return [...links.slice(0, first), added, ...kept].map((link, i) => {
    if (i || link.kind !== consume) now = model.moves[link.kind][now];
    const spilt = model.kinds[link.kind] === "spill";
    return { ...link, fault: false, content: spilt ? "leaked" : shown(model.contents[now]) };
  });
}

// What happens several times in a row is one link.
export function folded(links) {
  const made = [];
  for (const link of links) {
    const last = made.at(-1);
    const same = last && ["word", "line", "content", "fault", "added"].every((name) => last[name] === link[name]);
    if (same) last.times += 1;
    else made.push({ ...link, times: 1 });
  }
  return made;
}

function render(all, name) {
  const list = element("ol", { className: "chain", "aria-label": name });
  const links = folded(all);
  links.forEach((link, i) => {
    const word = link.times > 1 ? `${link.times} \u00d7 ${link.word}` : link.word;
    const chip = element("span", { className: "event" }, glyphElement(link.word), word);
    if (link.line) chip.append(element("small", {}, link.line));
    if (link.added) chip.append(element("small", {}, link.added));
    if (link.fault) chip.append(element("span", { className: "heard" }, ", the finding"));
    const item = element("li", { className: link.fault ? "fault" : link.added ? "added" : "" }, chip);
    const { content } = link;
    if (i < links.length - 1 || content === "lost")
      item.append(
        element("span", { className: "then", data: { content } }, element("span", { className: "heard" }, ", then "), content),
      );
    list.append(item);
  });
  return element("div", { className: "row" }, element("span", { className: "name" }, name), list);
}
