// What an event means, in plain words, beside the pointer that rests on it. By keyboard the selection says the same.

import { firstFrom, held, placeOf, wordFor } from "./model.js";
import { CONTENTS, element, glyphFor } from "./draw.js";

const NEAR = 14; // pixels

export function meaning(model, number, row) {
  return glyphFor(wordFor(model, model.processes[number], row)).means || "";
}

export function after(model, number, row) {
  const process = model.processes[number];
  const lane = model.lanes[process.lane[row]];
  return CONTENTS[held(model, lane, firstFrom(lane.rows, row))];
}

export function listen(timeline, box) {
  const { canvas } = timeline;
  canvas.addEventListener("pointermove", (event) => {
    const found = event.buttons ? null : timeline.near(event.offsetX, event.offsetY, NEAR);
    box.hidden = !found;
    if (!found) return;
    fill(timeline.model, box, found.process, found.row);
    box.style.left = `${Math.max(0, Math.min(event.offsetX + 14, timeline.width - box.offsetWidth - 2))}px`;
    box.style.top = `${event.offsetY + 20}px`;
  });
  canvas.addEventListener("pointerleave", () => (box.hidden = true));
}

function fill(model, box, number, row) {
  const process = model.processes[number];
  const word = wordFor(model, process, row);
  const call = model.calls[process.what[row]];
  const fault = process.faults.get(row);
  const lines = [
    [word, call !== word && call, placeOf(model, process, row)].filter(Boolean).join(", "),
    meaning(model, number, row),
    `After it ${after(model, number, row)}.`,
    fault === undefined ? "" : `A finding is here: ${model.findings[fault].code} ${model.findings[fault].name}.`,
  ];
  box.replaceChildren(...lines.filter(Boolean).map((line) => element("p", {}, line)));
}
