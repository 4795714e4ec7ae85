/* The review of a batch: a list of pages, one page under the viewer, a decision a page, and the commands that redo. */
(function () {
  "use strict";

  const data = JSON.parse(document.getElementById("data").textContent);
  const pages = data.pages; // in order of concern
  const by_id = (id) => document.getElementById(id);
  const key = `drmamba-review-${data.id}`;
  const fields = ["for", "threshold", "suppress", "keep", "despeckle", "further"];
  const state = { decisions: {}, shared: data.options, current: 0, visible: pages.map((_, i) => i) };
  const names = { label: "Scan and result", beforeLabel: "Scan", afterLabel: "Result" };
  const viewer = new PageViewer(by_id("viewer"), names);
  const items = [];

  // ---------------------------------------------------------------- what is remembered

  function restore() {
    try {
      const kept = JSON.parse(localStorage.getItem(key) || "{}");
      accept_decisions(kept.decisions || {});
      if (typeof kept.shared === "string") state.shared = kept.shared;
    } catch {
      say("This browser does not keep decisions; export them before you close the page.");
    }
  }

  function remember() {
    try {
      localStorage.setItem(key, JSON.stringify({ decisions: state.decisions, shared: state.shared }));
    } catch {
      say("This browser does not keep decisions; export them before you close the page.");
    }
  }

  /** Take decisions of a file or an earlier visit; those about other pages are left out. */
  function accept_decisions(found) {
    let count = 0;
    const known = new Set(pages.map((page) => page.id));
    for (const [id, decision] of Object.entries(found)) {
      if (!known.has(id) || !decision || !["accept", "redo"].includes(decision.choice)) continue;
      const options = decision.options && typeof decision.options === "object" ? decision.options : {};
      state.decisions[id] = { choice: decision.choice, options };
      count += 1;
    }
    return count;
  }

  // ---------------------------------------------------------------- list

  const choice = (page) => (state.decisions[page.id] || {}).choice || "";
  const WORDS = { accept: "accepted", redo: "redo", "": "" };
  // A page that failed says why; that it cannot be shown either is nothing new.
  const reasons = (page) => page.warnings.concat(page.problem && page.status !== "failed" ? [page.problem] : []);

  function build_list() {
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        target.src = target.dataset.src;
        seen.unobserve(target);
      }
    }, { rootMargin: "400px" });
    pages.forEach((page, index) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      const image = document.createElement("img");
      const text = document.createElement("span");
      image.alt = "";
      const small = page.after_small || page.before_small;
      if (small) {
        image.dataset.src = small;
        seen.observe(image);
      }
      button.type = "button";
      button.tabIndex = -1;
      text.className = "text";
      const name = document.createElement("span");
      name.className = "file";
      name.textContent = page.title;
      const mark = document.createElement("span");
      mark.className = "mark";
      text.append(name, mark);
      button.append(image, text);
      button.addEventListener("click", () => go(index));
      item.append(button);
      items.push({ item, button, mark });
    });
  }

  function arrange() {
    const filter = by_id("filter").value;
    const wanted = {
      all: () => true,
      open: (page) => !choice(page),
      concern: (page) => reasons(page).length > 0,
      accept: (page) => choice(page) === "accept",
      redo: (page) => choice(page) === "redo",
    }[filter];
    state.visible = pages.map((_, index) => index).filter((index) => wanted(pages[index]));
    if (by_id("order").value === "name") {
      const compare = (a, b) => pages[a].title.localeCompare(pages[b].title, undefined, { numeric: true });
      state.visible.sort(compare);
    }
    by_id("list").replaceChildren(...state.visible.map((index) => items[index].item));
    if (!state.visible.includes(state.current) && state.visible.length) go(state.visible[0]);
  }

  function mark_item(index) {
    const { button, mark } = items[index];
    const page = pages[index];
    const count = reasons(page).length;
    button.dataset.choice = choice(page);
    const warned = count === 1 ? "1 warning" : `${count} warnings`;
    mark.textContent = WORDS[choice(page)] || (page.status === "failed" ? "failed" : count ? warned : "no warning");
  }

  function count_pages() {
    const accepted = pages.filter((page) => choice(page) === "accept").length;
    const redone = pages.filter((page) => choice(page) === "redo").length;
    const left = pages.length - accepted - redone;
    by_id("counts").textContent = `${pages.length} pages: ${accepted} accepted, ${redone} to redo, ${left} undecided.`;
  }

  // ---------------------------------------------------------------- one page

  function go(index) {
    const before = items[state.current];
    before.button.removeAttribute("aria-current");
    before.button.tabIndex = -1;
    state.current = index;
    const page = pages[index];
    const { button } = items[index];
    button.setAttribute("aria-current", "true");
    button.tabIndex = 0;
    button.scrollIntoView({ block: "nearest", inline: "nearest" });
    by_id("name").textContent = page.title;
    const order = state.visible.indexOf(index) + 1;
    const size = page.width ? `${page.width} × ${page.height} pixels` : "";
    by_id("place").textContent = [order ? `${order} of ${state.visible.length}` : "", size].filter(Boolean).join(", ");
    by_id("reasons").replaceChildren(
      ...reasons(page).map((words) => reason(words, "warning", "Warning: ")),
      ...page.notes.map((words) => reason(words, "note", "Note: ")),
    );
    show_decision();
    show_pictures(page);
  }

  function reason(words, kind, prefix) {
    const line = document.createElement("li");
    line.className = kind;
    line.textContent = `${prefix}${words}${/[.!?]$/.test(words) ? "" : "."}`;
    return line;
  }

  /** Show the small pictures at once and the full pages as soon as they are loaded; load the next page ahead. */
  async function show_pictures(page) {
    const frame = { id: page.id, width: page.width, height: page.height, boxes: page.boxes, alt: page.title };
    if (!page.before_small && !page.after_small) {
      viewer.clear();
      return;
    }
    const first = await viewer.show({ ...frame, before: page.before_small, after: page.after_small });
    if (!first || pages[state.current] !== page) return;
    if (page.before || page.after) {
      const before = page.before || page.before_small;
      await viewer.show({ ...frame, before, after: page.after || page.after_small });
    }
    const next = pages[state.visible[state.visible.indexOf(state.current) + 1]];
    for (const address of next ? [next.before, next.after] : []) {
      if (address) new Image().src = address;
    }
  }

  function step(by) {
    const place = state.visible.indexOf(state.current) + by;
    if (place >= 0 && place < state.visible.length) go(state.visible[place]);
    else say(by > 0 ? "This is the last page." : "This is the first page.");
  }

  // ---------------------------------------------------------------- decisions

  function decide(wanted) {
    const page = pages[state.current];
    const options = (state.decisions[page.id] || {}).options || {};
    if (wanted) state.decisions[page.id] = { choice: wanted, options };
    else delete state.decisions[page.id];
    changed();
    show_decision();
    if (wanted === "accept") step(1);
  }

  function show_decision() {
    const page = pages[state.current];
    const options = (state.decisions[page.id] || {}).options || {};
    by_id("accept").setAttribute("aria-pressed", String(choice(page) === "accept"));
    by_id("redo").setAttribute("aria-pressed", String(choice(page) === "redo"));
    by_id("options").hidden = choice(page) !== "redo";
    for (const name of fields) {
      const field = by_id(name);
      if (field.type === "checkbox") field.checked = Boolean(options[name]);
      else field.value = options[name] || "";
    }
  }

  function options_changed() {
    const options = {};
    for (const name of fields) {
      const field = by_id(name);
      const value = field.type === "checkbox" ? field.checked : field.value.trim();
      if (value) options[name] = value;
    }
    const page = pages[state.current];
    state.decisions[page.id] = { choice: "redo", options };
    changed();
  }

  function changed() {
    remember();
    mark_item(state.current);
    count_pages();
    show_commands();
  }

  // ---------------------------------------------------------------- commands

  const windows = /Win/.test(navigator.platform);

  function quoted(text) {
    if (/^[\w./:@%+,=-]+$/.test(text) && !text.startsWith("-")) return text;
    const safe = text.startsWith("-") ? `./${text}` : text;
    return windows ? `"${safe.replaceAll('"', '""')}"` : `'${safe.replaceAll("'", "'\\''")}'`;
  }

  function chosen_options(options) {
    const words = [];
    for (const name of ["for", "threshold", "suppress", "keep"]) {
      if (options[name]) words.push(`--${name}`, quoted(String(options[name])));
    }
    if (options.despeckle) words.push("--despeckle");
    if (options.further) words.push(String(options.further));
    return words.join(" ");
  }

  /** Return one command for each file and choice of options; pages of one file with the same options share it. */
  function commands() {
    const groups = new Map();
    for (const page of pages) {
      if (choice(page) !== "redo") continue;
      const options = chosen_options(state.decisions[page.id].options);
      const name = JSON.stringify([page.input, options]);
      if (!groups.has(name)) groups.set(name, { page, options, numbers: [] });
      groups.get(name).numbers.push(page.page);
    }
    let number = 0;
    return [...groups.values()].map(({ page, options, numbers }) => {
      const several = page.pages > 1;
      number += several ? 1 : 0;
      // The other pages of a file are not replaced; where a page that failed would have gone is not known.
      const output = ["-o", quoted(several ? `redo/${number}` : page.redo_output || "redo")];
      const base = page.options.map(quoted_option).join(" ");
      const words = ["drmamba binarize", quoted(page.input), ...output, "--overwrite", base, state.shared, options];
      const comment = several && !windows ? `  # for page ${numbers.sort((a, b) => a - b).join(", ")}` : "";
      return words.filter(Boolean).join(" ") + comment;
    });
  }

  const quoted_option = (word) => (word.startsWith("--") ? word : quoted(word));

  function show_commands() {
    const lines = commands();
    by_id("commands").value = lines.join("\n");
    by_id("redo-words").textContent = lines.length
      ? "Run these where the batch was run. A file of several pages is redone as a whole, in a folder of its own."
      : "No page is marked for redoing yet.";
  }

  // ---------------------------------------------------------------- files

  function say(words) {
    by_id("said").textContent = words;
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  function exported() {
    const decided = pages.filter((page) => choice(page));
    const lines = decided.map(({ id, input, page }) => [id, { input, page, ...state.decisions[id] }]);
    return JSON.stringify({ review: data.id, decisions: Object.fromEntries(lines), commands: commands() }, null, 2);
  }

  async function import_file(event) {
    const file = event.target.files[0];
    event.target.value = "";
    if (!file) return;
    try {
      const count = accept_decisions(JSON.parse(await file.text()).decisions || {});
      pages.forEach((_, index) => mark_item(index));
      changed();
      show_decision();
      say(`${count} decisions were imported.`);
    } catch {
      say(`${file.name} holds no decisions of a review.`);
    }
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(by_id("commands").value);
    } catch {
      by_id("commands").select(); // a page that was opened from a file may not have the clipboard
      document.execCommand("copy");
    }
    say("The commands were copied.");
  }

  function pressed(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape" && typing) by_id("page").focus();
    if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      n: () => step(1),
      p: () => step(-1),
      a: () => decide("accept"),
      r: () => decide("redo"),
      u: () => decide(""),
      e: () => {
        decide("redo");
        by_id("for").focus();
      },
    };
    const action = actions[event.key.toLowerCase()];
    if (action) {
      action();
      event.preventDefault();
      return;
    }
    const in_list = by_id("list").contains(event.target);
    const list_step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (in_list && list_step) {
      step(list_step);
      items[state.current].button.focus();
      event.preventDefault();
    } else if (!event.key.startsWith("Arrow") || event.target === document.body) viewer.handleKey(event);
  }

  for (const name of data.sets) by_id("for").append(new Option(name, name));
  build_list();
  restore();
  pages.forEach((_, index) => mark_item(index));
  by_id("shared").value = state.shared;
  by_id("shared").addEventListener("input", () => {
    state.shared = by_id("shared").value.trim();
    remember();
    show_commands();
  });
  for (const name of fields) by_id(name).addEventListener("input", options_changed);
  by_id("previous").addEventListener("click", () => step(-1));
  by_id("next").addEventListener("click", () => step(1));
  by_id("accept").addEventListener("click", () => decide("accept"));
  by_id("redo").addEventListener("click", () => decide("redo"));
  by_id("undo").addEventListener("click", () => decide(""));
  by_id("filter").addEventListener("change", arrange);
  by_id("order").addEventListener("change", arrange);
  by_id("copy").addEventListener("click", copy);
  by_id("save-commands").addEventListener("click", () => save("redo.txt", "text/plain", `${commands().join("\n")}\n`));
  by_id("export").addEventListener("click", () => save("decisions.json", "application/json", exported()));
  by_id("import").addEventListener("change", import_file);
  document.addEventListener("keydown", pressed);
  arrange();
  count_pages();
  show_commands();
  go(state.visible[0]);
})();
