// The report's data in a form that is quick to look through. Nothing here touches the page.

const UNKNOWN = 255;

export const GONE = UNKNOWN; // the content of a parameter inside a bundle: nobody kept it

export function decode(data) {
  const processes = data.processes.map((process) => unpack(process));
  const rows = data.lanes.map(() => []);
  for (const process of processes) process.lane.forEach((lane, row) => rows[lane].push(row));
  const lanes = data.lanes.map((lane, number) => ({ ...lane, number, rows: Uint32Array.from(rows[number]) }));
  const consume = data.kinds.indexOf("consume");
  const model = { ...data, processes, lanes, consume };
  for (const lane of lanes) doom(model, lane);
  for (const process of processes) process.faults = new Map();
  data.findings.forEach((finding, number) => {
    for (const [process, row] of finding.rows) {
      if (!processes[process].faults.has(row)) processes[process].faults.set(row, number);
    }
  });
  return model;
}

function unpack(process) {
  const { shape, at, count, numbers } = process.rows;
  const size = shape.length;
  const known = { ...process, size, start: new Float64Array(size + 1), at: null };
  const columns = ["lane", "kind", "content", "site", "what", "hit", "flags"];
  columns.forEach((name, column) => {
    const values = new Int32Array(size);
    for (let row = 0; row < size; row++) values[row] = process.shapes[shape[row]][column];
    known[name] = values;
  });
  for (let row = 0; row < size; row++) known.start[row + 1] = known.start[row] + (count ? count[row] : 1);
  if (at.length) {
    known.at = new Float64Array(size);
    for (let row = 0, now = 0; row < size; row++) known.at[row] = now += at[row];
  }
  known.numbers = {};
  for (const [name, { row: steps, y }] of Object.entries(numbers)) {
    const values = new Float64Array(size).fill(NaN);
    for (let i = 0, row = 0; i < steps.length; i++) values[(row += steps[i])] = y[i] === null ? Infinity : y[i];
    known.numbers[name] = values;
  }
  return known;
}

// What is cleared before any step has used it was never of use, from its backward on, whatever it was added to: no step
// went wrong by it, and it is drawn so.
function doom(model, lane) {
  const { kind, content } = model.processes[lane.process];
  const [fresh, lost, leaked, mixed] = ["fresh", "lost", "leaked", "mixed"].map((name) => model.contents.indexOf(name));
  const clear = model.kinds.indexOf("clear");
  lane.doomed = new Uint8Array(lane.rows.length);
  let doomed = true; // what the trace ends with, no step has used either
  for (let i = lane.rows.length - 1; i >= 0; i--) {
    const row = lane.rows[i];
    if (kind[row] === clear) doomed = content[row] === lost;
    else if (kind[row] === model.consume || kind[row] < 0) doomed = false;
    else if (doomed && [fresh, leaked, mixed].includes(content[row])) lane.doomed[i] = 1;
  }
}

// What lies in an optimizer's gradients after row `i` of its lane, as it is shown. After a clear nothing does,
// whatever became of it; a bundle of events shows the worst that happened in it.
export function held(model, lane, i) {
  if (lane.doomed[i]) return "lost";
  const { kind, content } = model.processes[lane.process];
  return shown(model.contents[content[lane.rows[i]]], kind[lane.rows[i]] < 0);
}

export function shown(content, bundle = false) {
  return content === "new" || (content === "lost" && !bundle) ? "empty" : content;
}

// The first place in sorted `values` (from `of`, if given) that is not below `wanted`.
export function firstFrom(values, wanted, of = (value) => value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(values[middle]) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The rows that led to a step: everything of its optimizer from the step before on.
export function involved(model, process, row, most = 14) {
  const lane = model.lanes[model.processes[process].lane[row]];
  const { kind, content } = model.processes[process];
  const last = firstFrom(lane.rows, row);
  let first = last;
  let steps = 0;
  while (first > 0 && last - first < most) {
    const before = lane.rows[first - 1];
    const hollow = ["empty", "new", "lost"].includes(model.contents[content[before]]);
    if (kind[before] === model.consume) {
      steps += 1;
      if (hollow || steps > 1) break;
    }
    first -= 1;
    if (kind[before] === model.consume) break;
  }
  return Array.from(lane.rows.slice(first, last + 1));
}

// In which content these parameters of a lane stand after each row of the lane.
export function follow(model, lane, members) {
  const process = model.processes[lane.process];
  const touched = process.sets.map((set) => overlap(set, members));
  const contents = new Uint8Array(lane.rows.length);
  const [spent, refused] = ["spent", "refused"].map((name) => model.contents.indexOf(name));
  let now = model.contents.indexOf("new");
  lane.rows.forEach((row, i) => {
    const kind = process.kind[row];
    if (kind < 0) now = UNKNOWN;
    else if (process.hit[row] < 0 || touched[process.hit[row]]) {
      now = now === UNKNOWN ? process.content[row] : model.moves[kind][now];
      if (now === spent && process.flags[row] & 2) now = refused;
    }
    contents[i] = now;
  });
  return contents;
}

// Whether two lists of ranges [first, last, first, last, ...] have a number in common.
export function overlap(one, other) {
  for (let i = 0; i < one.length; i += 2) {
    for (let j = 0; j < other.length; j += 2) {
      if (one[i] <= other[j + 1] && other[j] <= one[i + 1]) return true;
    }
  }
  return false;
}

export function intersect(one, other) {
  const both = [];
  for (let i = 0; i < one.length; i += 2) {
    for (let j = 0; j < other.length; j += 2) {
      const first = Math.max(one[i], other[j]);
      const last = Math.min(one[i + 1], other[j + 1]);
      if (first <= last) both.push(first, last);
    }
  }
  return both;
}

export const WORDS = { consume: "step", deposit: "backward", spill: "another's backward" };

export function wordFor(model, process, row) {
  return wordOf(model, process.kind[row], process.what[row], process.flags[row]);
}

function wordOf(model, kind, what, flags) {
  if (kind < 0) return "events";
  if (flags & 2) return "skip";
  const name = model.kinds[kind];
  const call = model.calls[what];
  if (name === "clear" && ["rollback", "abort", "torn"].includes(call)) return "rollback";
  if (name === "clear" && call === "skip") return "skip";
  return WORDS[name] || name;
}

// Everything that is drawn of this run: the contents and the words of its events.
export function drawn(model) {
  const contents = new Set();
  for (const lane of model.lanes) for (let i = 0; i < lane.rows.length; i++) contents.add(held(model, lane, i));
  const words = new Set();
  for (const { shapes } of model.processes)
    for (const [, kind, , , what, , flags] of shapes) words.add(wordOf(model, kind, what, flags));
  return { contents, words };
}

export function placeOf(model, process, row) {
  const site = model.sites[process.site[row]];
  if (!site) return "";
  return site[2] ? `cell ${site[2]}:${site[1]}` : `${site[0]}:${site[1]}`;
}

export function eventsIn(process, row) {
  return process.start[row + 1] - process.start[row];
}

// One sentence about a row.
export function describe(model, number, row) {
  const process = model.processes[number];
  const lane = model.lanes[process.lane[row]];
  const content = model.contents[process.content[row]];
  const many = eventsIn(process, row);
  if (process.kind[row] < 0) {
    const kinds = model.kinds.filter((_, kind) => process.flags[row] & (1 << kind));
    return `${many} events of ${lane.title} (${kinds.join(", ")}), at worst ${content}`;
  }
  const call = model.calls[process.what[row]];
  const parts = [`event ${process.start[row] + 1}: ${wordFor(model, process, row)}`];
  if (call) parts.push(call);
  const place = placeOf(model, process, row);
  if (place) parts.push(`at ${place}`);
  parts.push(`${lane.title} is ${shown(content)} after it`);
  for (const [name, values] of Object.entries(process.numbers)) {
    if (!Number.isNaN(values[row]))
      parts.push(`${name} ${name === "took" ? seconds(values[row]) : short(values[row])}`);
  }
  if (model.processes.length > 1) parts.unshift(process.name);
  return parts.join(", ");
}

// Which rows of a process a filter lets through: 1 for those it does.
export function matching(model, number, filter) {
  const process = model.processes[number];
  const text = filter.text.toLowerCase();
  const shapes = process.shapes.map(([lane, kind, , site, what]) => {
    if (filter.lane >= 0 && filter.lane !== lane) return false;
    if (kind >= 0 && filter.without.has(kind)) return false;
    if (!text) return true;
    const place = model.sites[site] ? `${model.sites[site][0]}:${model.sites[site][1]}` : "";
    const words = `${kind < 0 ? "" : model.kinds[kind]} ${WORDS[model.kinds[kind]] || ""} ${model.calls[what] || ""}`;
    return `${words} ${place} ${model.lanes[lane].title} ${model.lanes[lane].slot}`.toLowerCase().includes(text);
  });
  const mask = new Uint8Array(process.size);
  for (let row = 0; row < process.size; row++) mask[row] = shapes[process.rows.shape[row]] ? 1 : 0;
  if (filter.faults) for (let row = 0; row < process.size; row++) if (!process.faults.has(row)) mask[row] = 0;
  return mask;
}

export function short(value) {
  if (!Number.isFinite(value)) return "not finite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

export function seconds(value) {
  if (value >= 100) return `${Math.round(value)} s`;
  if (value >= 1) return `${value.toFixed(1)} s`;
  if (value >= 1e-3) return `${(value * 1e3).toFixed(1)} ms`;
  return `${Math.round(value * 1e6)} us`;
}

export function many(count, what) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}
