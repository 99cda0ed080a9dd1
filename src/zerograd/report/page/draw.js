// What an event and a content look like: the same shapes on the canvas, in the legend and in the findings.

// Paths in a box of 16 by 16 around (0, 0). A shape is known without its colour.
export const GLYPHS = {
  backward: {
    path: "M0 6 L-6 -5 L6 -5 Z",
    solid: true,
    says: "backward adds",
    means: "backward() adds to .grad; it never replaces it.",
  },
  "another's backward": {
    path: "M0 6 L-6 -5 L6 -5 Z",
    solid: false,
    says: "another optimizer's backward adds here too",
    means: "The loss of another optimizer depends on these parameters, so its backward() adds to their .grad too.",
  },
  step: {
    path: "M-4 -7 H4 V7 H-4 Z",
    solid: true,
    says: "step uses",
    means: "step() updates the weights with .grad, and does not clear it.",
  },
  clear: {
    path: "M5.5 0 A5.5 5.5 0 1 1 -5.5 0 A5.5 5.5 0 1 1 5.5 0 Z",
    solid: false,
    says: "clear",
    means: "zero_grad() clears .grad, so that the next backward() starts from nothing.",
  },
  unscale: {
    path: "M-6 0 H6 M0 -5 V-4.6 M0 5 V4.6",
    solid: false,
    says: "unscale divides by the loss scale",
    means: "The loss was multiplied by the loss scale; .grad is divided by it again.",
  },
  clip: {
    path: "M-2.2 -2.4 L6.5 4.6 M-2.2 2.4 L6.5 -4.6 M-2.1 -3.8 A2.1 2.1 0 1 1 -6.3 -3.8 A2.1 2.1 0 1 1 -2.1 -3.8 Z M-2.1 3.8 A2.1 2.1 0 1 1 -6.3 3.8 A2.1 2.1 0 1 1 -2.1 3.8 Z",
    solid: false,
    says: "clip shortens",
    means: "If the norm of .grad exceeds the limit, .grad is scaled down to it.",
  },
  skip: {
    path: "M-5 -6 L5 6 M5 -6 L-5 6",
    solid: false,
    says: "skipped step uses nothing",
    means: "The gradients are NaN or infinite: the weights stay unchanged, and the loss scale is lowered. This is correct.",
  },
  rollback: {
    path: "M5 5 A6 6 0 1 0 -5 3 M-6 -2 L-5 3 L0 2",
    solid: false,
    says: "rollback drops",
    means: "The block did not commit, and its gradients are dropped.",
  },
  rescale: { path: "M-5 -5 L5 5 M5 -5 L-5 5 M-6 0 H6", solid: false, says: "rescaled by hand" },
  reduce: { path: "M5 -6 H-5 L1 0 L-5 6 H5", solid: false, says: "summed over ranks" },
  schedule: { path: "M-6 5 L-1 0 L2 2 L6 -5", solid: false, says: "schedule moves" },
  events: { path: "M-6 -3 H6 V3 H-6 Z", solid: true, says: "many events" },
};

export const CONTENTS = {
  fresh: "fresh: no step has used it yet",
  spent: "spent: a step has used it, and nothing has cleared it",
  mixed: "mixed: new gradients added to used ones",
  leaked: "leaked: gradients of another loss are in it",
  lost: "never used: no step ever uses it",
  refused: "refused: not finite, so the step was skipped",
  empty: "empty: no gradient",
};

export const MARKS = {
  fault: "a finding (a red tick where there is no room)",
  led: "what led to it",
  chosen: "selected",
};

export function glyphFor(word) {
  return GLYPHS[word] || GLYPHS.events;
}

const paths = new Map();

export function drawGlyph(context, word, x, y, size, colour, page) {
  const glyph = glyphFor(word);
  if (!paths.has(glyph)) paths.set(glyph, new Path2D(glyph.path));
  context.save();
  context.translate(x, y);
  context.scale(size / 16, size / 16);
  context.lineJoin = context.lineCap = "round";
  context.lineWidth = 4.5;
  context.strokeStyle = page; // an edge that lifts it off whatever lies behind
  context.stroke(paths.get(glyph));
  context.lineWidth = 2;
  context.strokeStyle = context.fillStyle = colour;
  if (glyph.solid) context.fill(paths.get(glyph));
  context.stroke(paths.get(glyph));
  context.restore();
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function glyphElement(word) {
  const glyph = glyphFor(word);
  const shape = svg("path", { d: glyph.path, class: glyph.solid ? "solid" : "open" });
  return svg("svg", { class: "glyph", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, shape);
}

// Text goes into the page here and nowhere else, and only as text.
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "data") Object.assign(made.dataset, value);
    else if (key.startsWith("aria-") || key === "scope" || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "page",
    "card",
    "line",
    "text",
    "faint",
    "accent",
    "good",
    "bad",
    "warn",
    "fresh",
    "spent",
    "mixed",
    "lost",
    "hollow",
  ];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// The band of one content between two events: told apart by height and pattern as well as by colour.
export function drawBand(context, content, x, y, width, height, tones, hatch) {
  if (width <= 0) return;
  if (content === "fresh") {
    context.fillStyle = tones.fresh;
    context.fillRect(x, y, width, height);
  } else if (content === "spent") {
    context.fillStyle = tones.spent;
    context.fillRect(x, y + height * 0.6, width, height * 0.4);
  } else if (content === "refused") {
    context.fillStyle = tones.spent;
    context.fillRect(x, y, width, 2);
    context.fillRect(x, y + height - 2, width, 2);
    if (width > 8) for (const edge of [x, x + width - 2]) context.fillRect(edge, y, 2, height);
  } else if (content === "lost") {
    context.fillStyle = tones.lost;
    context.fillRect(x, y, width, height);
    context.fillStyle = tones.page;
    for (let at = x + 4; at < x + width - 2; at += 8) context.fillRect(at, y + 3, 2, height - 6);
  } else if (content === "mixed" || content === "leaked") {
    context.fillStyle = content === "mixed" ? tones.mixed : tones.warn;
    context.fillRect(x, y, width, height);
    if (hatch) {
      context.fillStyle = hatch;
      context.fillRect(x, y, width, height);
    }
  } else {
    context.fillStyle = tones.hollow;
    context.fillRect(x, y + height - 2, width, 2);
  }
}

// Dark stripes over the colour of mixed content.
export function hatching(context) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.strokeStyle = "rgba(0, 0, 0, 0.45)";
  pen.lineWidth = 2.4;
  pen.beginPath();
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
