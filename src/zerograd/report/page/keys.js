// What the keys do. Returns whether a key was one of ours.

const byId = (id) => document.getElementById(id);

export const KEYS = [
  ["?", "this help"],
  ["j / k", "next / previous finding"],
  ["t", "the timeline"],
  ["\u2190 \u2192", "on the timeline: previous / next event of the optimizer"],
  ["\u2191 \u2193", "the optimizer above / below"],
  ["+ / -", "zoom in / out"],
  ["[ / ]", "move left / right"],
  ["0", "the whole run"],
  ["n / p", "next / previous event at a finding"],
  ["o", "open the optimizer: groups and parameters"],
  ["/", "filter"],
  ["e", "the events as a table"],
  ["Escape", "forget the selection"],
];

export function press(page, key, onTimeline) {
  const { timeline } = page;
  const everywhere = {
    "?": () => byId("help").showModal(),
    "/": () => byId("filter-text").focus(),
    t: () => byId("lanes").focus(),
    e: () => {
      byId("events").open = true;
      byId("events").querySelector("summary").focus();
    },
    j: () => page.nextFinding(1),
    k: () => page.nextFinding(-1),
    n: () => page.nextFault(1),
    p: () => page.nextFault(-1),
    "+": () => timeline.zoom(0.5),
    "=": () => timeline.zoom(0.5),
    "-": () => timeline.zoom(2),
    0: () => timeline.all(),
    "[": () => timeline.pan(-0.4),
    "]": () => timeline.pan(0.4),
    Escape: () => {
      timeline.selected = null;
      timeline.marked = new Map();
      timeline.draw();
      page.fillLegend();
      document.activeElement.blur();
    },
  };
  const there = {
    ArrowLeft: () => timeline.move(-1),
    ArrowRight: () => timeline.move(1),
    ArrowUp: () => timeline.change(-1),
    ArrowDown: () => timeline.change(1),
    Home: () => timeline.look(0, timeline.view[1] - timeline.view[0]),
    End: () =>
      timeline.look(...timeline.range().map((end, i) => (i ? end : end - (timeline.view[1] - timeline.view[0])))),
    o: () => timeline.toggle(timeline.lane()),
    Enter: () => timeline.toggle(timeline.lane()),
  };
  const action = everywhere[key] || (onTimeline && there[key]);
  if (!action) return false;
  action();
  return true;
}
