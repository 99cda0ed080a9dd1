// The pure parts of the page, by node --test.
import assert from "node:assert/strict";
import test from "node:test";

import { common } from "../../src/zerograd/report/page/tables.js";
import { scaleFor } from "../../src/zerograd/report/page/charts.js";
import {
  decode,
  describe,
  drawn,
  firstFrom,
  follow,
  held,
  intersect,
  involved,
  matching,
  overlap,
  seconds,
  short,
} from "../../src/zerograd/report/page/model.js";
import { folded, mend } from "../../src/zerograd/report/page/chain.js";
import { niceStep } from "../../src/zerograd/report/page/painting.js";
import { layout } from "../../src/zerograd/report/page/strips.js";

const KINDS = ["deposit", "spill", "consume", "clear"];
const CONTENTS = ["new", "empty", "fresh", "spent", "mixed", "lost", "leaked", "refused"];
const [NEW, EMPTY, FRESH, SPENT, MIXED, LOST] = [0, 1, 2, 3, 4, 5];
const MOVES = [
  [FRESH, FRESH, FRESH, MIXED, MIXED, FRESH, FRESH, MIXED],
  [FRESH, FRESH, FRESH, MIXED, MIXED, FRESH, FRESH, MIXED],
  [EMPTY, EMPTY, SPENT, SPENT, SPENT, LOST, SPENT, SPENT],
  [NEW, EMPTY, LOST, EMPTY, LOST, LOST, LOST, EMPTY],
];

// A lane of [kind, content after, set hit] with one line of code for each kind.
function data(rows, extra = {}) {
  const shapes = rows.map(([kind, content, hit = -1]) => [
    0,
    KINDS.indexOf(kind),
    content,
    KINDS.indexOf(kind),
    KINDS.indexOf(kind),
    hit,
    0,
  ]);
  return {
    kinds: KINDS,
    contents: CONTENTS,
    moves: MOVES,
    sites: KINDS.map((_, i) => ["train.py", i + 1, 0]),
    calls: ["backward()", "backward()", "step()", "zero_grad()"],
    processes: [
      {
        name: "rank 0",
        shapes,
        sets: [[0, 0]],
        rows: { shape: rows.map((_, i) => i), at: rows.map(() => 10), numbers: {} },
      },
    ],
    lanes: [
      {
        slot: "SGD#0",
        title: "opt_d",
        process: 0,
        groups: [2],
        parts: [
          { members: [0, 0], names: ["a"], size: 1 },
          { members: [1, 1], names: ["b"], size: 1 },
        ],
        steps: 2,
      },
    ],
    findings: [{ rows: [[0, rows.length - 1]], fails: true }],
    ...extra,
  };
}

const STALE = [
  ["deposit", FRESH],
  ["consume", SPENT],
  ["deposit", MIXED],
  ["consume", SPENT],
];

test("rows come back from their shapes, with positions and times", () => {
  const model = decode(data(STALE));
  const [process] = model.processes;
  assert.deepEqual([...process.start], [0, 1, 2, 3, 4]);
  assert.deepEqual([...process.at], [10, 20, 30, 40]);
  assert.deepEqual([...model.lanes[0].rows], [0, 1, 2, 3]);
  assert.equal(process.faults.get(3), 0);
});

test("the events that led to a step begin with the step before", () => {
  const model = decode(data(STALE));
  assert.deepEqual(involved(model, 0, 3), [1, 2, 3]);
  const clean = decode(
    data([
      ["deposit", FRESH],
      ["consume", SPENT],
      ["clear", EMPTY],
      ["deposit", FRESH],
      ["clear", LOST],
      ["consume", LOST],
    ]),
  );
  assert.deepEqual(involved(clean, 0, 5), [1, 2, 3, 4, 5]);
});

test("what is cleared before a step is lost from its deposit on", () => {
  const model = decode(
    data([
      ["deposit", FRESH],
      ["clear", LOST],
      ["deposit", FRESH],
      ["consume", SPENT],
    ]),
  );
  assert.deepEqual([...model.lanes[0].doomed], [1, 0, 0, 0]);
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => held(model, model.lanes[0], i)),
    ["lost", "empty", "fresh", "spent"],
  );
  const { contents, words } = drawn(model);
  assert.deepEqual([...contents], ["lost", "empty", "fresh", "spent"]);
  assert.deepEqual([...words], ["backward", "clear", "step"]);
});

test("what is added to old gradients and cleared before a step was never used", () => {
  const model = decode(
    data([
      ["deposit", FRESH],
      ["consume", SPENT],
      ["deposit", MIXED],
      ["clear", LOST],
      ["deposit", FRESH],
      ["consume", SPENT],
    ]),
  );
  assert.deepEqual([...model.lanes[0].doomed], [0, 0, 1, 0, 0, 0]);
});

test("what a skipped step leaves is refused, in every parameter that it was offered", () => {
  const rows = [
    ["deposit", FRESH],
    ["consume", 7],
    ["clear", EMPTY],
  ];
  const skipped = data(rows);
  skipped.processes[0].shapes[1][6] = 2;
  const model = decode(skipped);
  assert.deepEqual([...follow(model, model.lanes[0], [0, 1])], [FRESH, 7, EMPTY]);
  assert.deepEqual([...drawn(model).words], ["backward", "skip", "clear"]);
});

const links = (...kinds) => kinds.map((kind) => ({ kind: KINDS.indexOf(kind), word: kind, content: "spent" }));
const mended = (code, ...kinds) =>
  mend({ kinds: KINDS, contents: CONTENTS, moves: MOVES }, links(...kinds), code)?.map((link) => [
    link.word,
    link.content,
  ]);

test("a chain is mended by the clear that is missing or misplaced", () => {
  assert.deepEqual(mended("ZG001", "consume", "deposit", "consume"), [
    ["consume", "spent"],
    ["clear", "empty"],
    ["deposit", "fresh"],
    ["consume", "spent"],
  ]);
  assert.deepEqual(mended("ZG005", "spill", "deposit", "consume"), [
    ["spill", "leaked"],
    ["clear", "empty"],
    ["deposit", "fresh"],
    ["consume", "spent"],
  ]);
  assert.deepEqual(mended("ZG002", "deposit", "clear", "consume"), [
    ["clear", "empty"],
    ["deposit", "fresh"],
    ["consume", "spent"],
  ]);
  assert.equal(mended("ZG002", "deposit", "consume"), undefined);
  assert.equal(mended("ZG103", "consume", "deposit", "consume"), undefined);
});

test("what happens several times in a row is one link", () => {
  const twice = folded(links("deposit", "deposit", "consume"));
  assert.deepEqual(
    twice.map((link) => [link.word, link.times]),
    [
      ["deposit", 2],
      ["consume", 1],
    ],
  );
});

test("single parameters are followed through the sets that were hit", () => {
  const model = decode(
    data([
      ["deposit", FRESH, 0],
      ["consume", SPENT],
      ["deposit", MIXED, 0],
      ["consume", SPENT],
    ]),
  );
  assert.deepEqual([...follow(model, model.lanes[0], [0, 0])], [FRESH, SPENT, MIXED, SPENT]);
  assert.deepEqual([...follow(model, model.lanes[0], [1, 1])], [NEW, EMPTY, EMPTY, EMPTY]);
});

test("an open lane has a strip for every kind of parameter", () => {
  const model = decode(data(STALE));
  assert.equal(layout(model, new Set()).strips.length, 1);
  assert.deepEqual(
    layout(model, new Set([0])).strips.map((strip) => strip.name),
    ["opt_d", "a", "b"],
  );
});

test("filters look at words, places and kinds", () => {
  const model = decode(data(STALE));
  const none = { text: "", lane: -1, without: new Set(), faults: false };
  assert.deepEqual([...matching(model, 0, none)], [1, 1, 1, 1]);
  assert.deepEqual([...matching(model, 0, { ...none, text: "STEP" })], [0, 1, 0, 1]);
  assert.deepEqual([...matching(model, 0, { ...none, text: "train.py:1" })], [1, 0, 1, 0]);
  assert.deepEqual([...matching(model, 0, { ...none, without: new Set([0]) })], [0, 1, 0, 1]);
  assert.deepEqual([...matching(model, 0, { ...none, faults: true })], [0, 0, 0, 1]);
});

test("one sentence tells an event", () => {
  const model = decode(data(STALE));
  assert.equal(describe(model, 0, 2), "event 3: backward, backward(), at train.py:1, opt_d is mixed after it");
});

test("numbers are short", () => {
  assert.deepEqual([0, 1234.5678, 1e-7, 3e9, Infinity].map(short), ["0", "1235", "1.0e-7", "3.0e9", "not finite"]);
  assert.deepEqual([123, 1.5, 0.0123, 0.0000123].map(seconds), ["123 s", "1.5 s", "12.3 ms", "12 us"]);
});

test("small things", () => {
  assert.equal(firstFrom([1, 3, 5], 4), 2);
  assert.ok(overlap([0, 3], [3, 9]));
  assert.ok(!overlap([0, 3], [4, 9]));
  assert.deepEqual(intersect([0, 5, 8, 9], [4, 8]), [4, 5, 8, 8]);
  assert.equal(niceStep(0.3, true), 1);
  assert.equal(niceStep(13, true), 20);
  assert.equal(common([4, 4, 5]), 4);
  assert.equal(common([4, 5]), undefined);
});

test("a scale has room for values that are all alike, and logs what spans decades", () => {
  const flat = scaleFor([2, 2], {});
  assert.ok(flat.low < 2 && flat.high > 2);
  assert.ok(scaleFor([1, 1000], { log: true }).logarithmic);
  assert.ok(!scaleFor([1, 10], { log: true }).logarithmic);
});
