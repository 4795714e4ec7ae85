/* What is told about a page beside its picture: marked places, flags, and links to download it. */

import { pagesOf } from "./page_list.js";
import { sentence } from "./words.js";

/** Return the marked places of a page for the viewer. */
export function boxesOf(page) {
  return Object.entries((page && page.boxes) || {}).flatMap(([kind, boxes]) =>
    boxes.map(([left, top, right, bottom]) => ({ kind, left, top, right, bottom })),
  );
}

/** Return the flags as list items; warnings come first and look different from notes. */
export function flagsOf(page) {
  const notes = page.notes.filter((words) => !page.warnings.includes(words));
  const item = (words, kind, name) => {
    const line = document.createElement("li");
    line.className = kind;
    const strong = document.createElement("strong");
    strong.textContent = name;
    line.append(strong, " ", sentence(words));
    return line;
  };
  if (!page.notes.length) return [item("nothing is unusual about this page", "fine", "✓")];
  return [
    ...page.warnings.map((words) => item(words, "warning", "⚠ Look at this page:")),
    ...notes.map((words) => item(words, "note", "Note:")),
  ];
}

/** Return links to the page below an address and, when the job has ended, to all its pages. */
export function downloadRows(base, job, working) {
  const row = (words, address, formats) => {
    const line = document.createElement("div");
    line.className = "download-row";
    const name = document.createElement("span");
    name.textContent = words;
    const links = formats.map(([format, label]) => {
      const link = document.createElement("a");
      Object.assign(link, { href: `${address}?format=${format}`, download: "", className: "button", textContent: label });
      link.setAttribute("aria-label", `${words}, ${label}`);
      return link;
    });
    line.append(name, ...links);
    return line;
  };
  const rows = [row("This page", `${base}/download`, [["png", "PNG"], ["tiff", "TIFF (G4)"], ["pdf", "PDF"]])];
  const count = pagesOf(job).filter((one) => one.status === "done").length;
  if (count > 1 && !working) {
    const all = [["zip", "ZIP of PNG"], ["tiff", "TIFF (G4)"], ["pdf", "PDF"]];
    rows.push(row(`All ${count} pages`, `v1/jobs/${job.id}/download`, all));
  }
  return rows;
}
