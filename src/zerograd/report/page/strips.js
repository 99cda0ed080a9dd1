// Which strips the timeline has, from top to bottom.

import { intersect } from "./model.js";

export const TOP = 24;
const LANE = 66;
const PART = 26;

// Which rows the canvas has: each lane, and below an open one its groups and the parameters that fare alike.
export function layout(model, open) {
  const strips = [];
  let y = TOP;
  for (const lane of model.lanes) {
    const process = model.processes[lane.process];
    const [title, place] = lane.title.split(" at "); // an optimizer without a name stands for the line that steps it
    const name = model.processes.length > 1 ? `${process.name}: ${title}` : title;
    strips.push({ lane, name, place, y, height: LANE, depth: 0 });
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
