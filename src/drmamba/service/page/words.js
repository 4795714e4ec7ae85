/* What the page says: times, progress, layers and facts in words. */

/** Return a duration in words. */
export function duration(seconds) {
  if (seconds < 1) return "less than 1 s";
  if (seconds < 90) return `about ${Math.round(seconds)} s`;
  return `about ${Math.round(seconds / 60)} min`;
}

/** Return what is being done, for `state` from /progress and the names of the files. */
export function stage(state, names) {
  const { file, page, pages } = state.progress;
  if (state.status === "failed") return state.problem.detail;
  if (state.status === "done") return "Done.";
  if (state.status === "cancelled") return "Cancelled. Pages that were done before are kept.";
  if (state.status === "waiting" || !file) return "Waiting for a free worker …";
  const name = names[file - 1] || "the file";
  return pages > 1 ? `Page ${Math.min(page, pages)} of ${pages} of ${name}` : `Working on ${name}`;
}

/** Return the windows and the time of a work in progress. */
export function numbers({ windows, windows_done: done, seconds, seconds_left: left }) {
  const passed = `${Math.floor(seconds)} s so far`;
  if (!windows) return `Reading the page, ${passed}`;
  const time = left === null ? passed : `${duration(left)} left`;
  return `${done} of ${windows} windows, ${time}`;
}

/** Return the share of a work that is done, from 0 to 1, or null if that is unknown. */
export function share({ pages, page, windows, windows_done: done }) {
  if (!windows && pages <= 1) return null;
  const part = windows ? done / windows : 0;
  return (Math.min(page, Math.max(pages, 1)) - 1 + part) / Math.max(pages, 1);
}

/** Return the facts of a page in one line. */
export function facts(page) {
  const parts = [`${page.megapixels.toFixed(1)} megapixels`, `${(100 * page.ink).toFixed(1)} % ink`];
  if (page.stroke_width) parts.push(`strokes ${page.stroke_width} pixels wide`);
  if (page.scale !== undefined && page.scale !== 1) parts.push(`seen at ${Math.round(100 * page.scale)} %`);
  return parts.join(" · ");
}

/** Return a sentence that begins with a capital letter, unless it begins with a file's name, and ends with a stop. */
export function sentence(words) {
  const named = words.split(" ")[0].includes(".");
  const begun = named ? words : words.charAt(0).toUpperCase() + words.slice(1);
  return begun + (words.endsWith(".") ? "" : ".");
}

export const LAYERS = {
  probability: "The probability of ink, which the threshold divides: white is 0, black is 1.",
  detail: "D, the detail route, follows fast changes such as strokes and edges.",
  background: "B, the background route, follows slow changes such as paper, stains and shadows.",
  gate: "β, the gate, is the share of the background that is subtracted.",
  removed: "β · B is what was subtracted from D.",
};

export const RIGHT_SIDES = {
  result: "Result",
  probability: "Probability",
  detail: "D",
  background: "B",
  gate: "β",
  removed: "β · B",
};
