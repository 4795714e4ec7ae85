/* The web page: one job at a time, from the upload to the downloads. All work is done by the API. */

import { boxesOf, downloadRows, flagsOf } from "./page_facts.js";
import { failuresOf, pagesOf, showPages } from "./page_list.js";
import { call, picture, startJob } from "./requests.js";
import { SettingsForm } from "./settings.js";
import { duration, facts, LAYERS, numbers, RIGHT_SIDES, sentence, share, stage } from "./words.js";

const POLL_MILLISECONDS = 400;
const RETRY_MILLISECONDS = 2000; // while the service does not answer
const ALIVE_MILLISECONDS = 60_000; // the service removes a job that nobody asks about
const SHOWN_BY_BROWSERS = ["image/jpeg", "image/png", "image/webp", "image/bmp"];
const find = (id) => document.getElementById(id);

const viewer = new PageViewer(find("viewer"), {
  label: "Scan and result",
  beforeLabel: "Scan",
  afterLabel: "Result",
  empty: "Choose a scan, and it is shown here.",
});

let form; // SettingsForm
let job = null; // the last answer about the job
let applied = ""; // settings of the job, as a query
let current = null; // {file, page} that is shown
let blobs = []; // addresses of the uploaded files, for those that browsers can show
let upload = null; // {abort} while files are sent
let work = null; // AbortController of a page that is being explained
let layer = null; // {address, low, high} of the explained layer that is shown
let turn = 0; // grows with every new job, so that late answers about an old one are dropped
let dragged = 0; // elements under the dragged file

/** Keep what a reload needs. */
function remember() {
  if (job) sessionStorage.setItem("drmamba", JSON.stringify({ job: job.id, current, applied, query: form.query() }));
  else sessionStorage.removeItem("drmamba");
}

/** Forget the job with its pictures and links, here and in the service. */
function clear({ remove = true } = {}) {
  turn += 1;
  if (upload) upload.abort();
  if (work) work.abort();
  if (job && remove) call(`v1/jobs/${job.id}`, { method: "DELETE", keepalive: true }).catch(() => {});
  for (const address of blobs) if (address) URL.revokeObjectURL(address);
  [job, current, blobs, upload, work] = [null, null, [], null, null];
  dropLayer();
  viewer.clear();
  find("page-title").textContent = "Page";
  find("pages").replaceChildren();
  find("failures").querySelector("ul").replaceChildren();
  for (const id of ["work", "failures", "list", "told", "downloads", "explain", "turn"]) find(id).hidden = true;
  settingsChanged();
  remember();
}

/** Upload files and start a job with them. */
async function start(files) {
  if (!files.length) return;
  clear();
  const mine = turn;
  blobs = files.map((file) => (SHOWN_BY_BROWSERS.includes(file.type) ? URL.createObjectURL(file) : null));
  const names = files.length === 1 ? files[0].name : `${files.length} files`;
  find("page-title").textContent = files[0].name;
  showWork(`Uploading ${names}`, 0, "0 % sent", true);
  if (matchMedia("(max-width: 56rem)").matches) find("work").scrollIntoView(); // with the page below it
  if (blobs[0]) viewer.show({ before: blobs[0], alt: files[0].name, id: "1/1" });
  try {
    applied = form.query();
    upload = startJob(files, applied, (sent) => {
      if (mine === turn) showWork(`Uploading ${names}`, sent, `${Math.round(100 * sent)} % sent`, true);
    });
    const answer = await upload.done;
    upload = null;
    if (mine !== turn) return;
    job = answer;
    select(1, 1);
    poll(mine);
  } catch (error) {
    if (mine !== turn) return;
    upload = null;
    showWork(error.name === "AbortError" ? error.message : "", null, "", false);
    if (error.name !== "AbortError") fail([error.message]);
  }
}

/** Ask how far the job is until it is done; pages are fetched when there are new ones. */
async function poll(mine) {
  let seen = null;
  while (mine === turn && job) {
    let wait = POLL_MILLISECONDS;
    try {
      const state = await call(`v1/jobs/${job.id}/progress`);
      if (mine !== turn) return;
      const mark = `${state.run}/${state.status}/${state.finished}`;
      if (mark !== seen) {
        const answer = await call(`v1/jobs/${job.id}`);
        if (mine !== turn) return;
        job = answer;
        seen = mark;
        render();
      }
      Object.assign(job, state);
      renderWork();
      if (!working() && !work) return;
    } catch (error) {
      if (mine !== turn) return;
      if (error.status === 404) {
        clear({ remove: false });
        fail([error.message]);
        return;
      }
      showWork("The service does not answer. Trying again …", null, "", false);
      wait = RETRY_MILLISECONDS;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

const working = () => job && ["waiting", "working"].includes(job.status);

function showWork(words, done, details, cancellable) {
  find("work").hidden = false;
  const title = find("stage");
  if (title.textContent !== words) title.textContent = words;
  const bar = find("bar");
  bar.hidden = !cancellable;
  if (done === null) bar.removeAttribute("value");
  else bar.value = done;
  find("numbers").textContent = details;
  find("cancel").hidden = !cancellable;
  find("remove").hidden = !job;
}

function renderWork() {
  if (job.exploration) showWork("Explaining the page", share(job.exploration), numbers(job.exploration), true);
  else if (working()) {
    const waits = job.status === "waiting";
    const words = stage(job, job.files.map((file) => file.name));
    showWork(words, waits ? null : share(job.progress), waits ? "" : numbers(job.progress), true);
  } else {
    const done = pagesOf(job).filter((page) => page.status === "done").length;
    const took = duration(job.progress.seconds).replace("about ", "");
    showWork(stage(job, []), 1, `${done} ${done === 1 ? "page" : "pages"} in ${took}`, false);
  }
}

function fail(messages) {
  const lines = messages.map((words) => {
    const item = document.createElement("li");
    item.textContent = sentence(words);
    return item;
  });
  find("failures").querySelector("ul").replaceChildren(...lines);
  find("failures").hidden = !messages.length;
}

/** Show everything about the job anew. */
function render() {
  const pages = pagesOf(job);
  const done = pages.filter((page) => page.status === "done");
  if (done.length && !done.some((page) => page.file === current.file && page.page === current.page)) {
    const ended = job.files[current.file - 1].status !== "working" || done.length > 1;
    if (ended) select(done[0].file, done[0].page);
  }
  fail(failuresOf(job));
  find("list").hidden = find("turn").hidden = done.length < 2;
  showPages(find("pages"), job, current, (page) => select(page.file, page.page));
  renderPage();
  settingsChanged();
}

const shownPage = () =>
  job && pagesOf(job).find((p) => p.file === current.file && p.page === current.page && p.status === "done");

/** Show another page. */
function select(file, page) {
  if (work) work.abort();
  current = { file, page };
  dropLayer();
  remember();
  render();
  renderWork();
}

function renderPage() {
  const page = shownPage();
  const base = `v1/jobs/${job.id}/files/${current.file}/pages/${current.page}`;
  const single = current.page === 1 && !(page && page.pages > 1);
  const before = (single && blobs[current.file - 1]) || `${base}/scan?run=${job.run}`;
  const file = job.files[current.file - 1];
  const title = page ? page.title : file.name;
  const after = layer ? layer.address : page && `${base}/result?run=${job.run}`;
  const failed = file.problem && !file.pages.length;
  const mark = [before, after, failed].join(" ");
  if (find("viewer").dataset.shown !== mark) {
    find("viewer").dataset.shown = mark;
    if (failed) viewer.clear();
    else viewer.show({ before, after, boxes: boxesOf(page), alt: title, id: `${current.file}/${current.page}` });
  }
  find("page-title").textContent = title;
  for (const id of ["told", "downloads", "explain"]) find(id).hidden = !page;
  if (!page) return;
  find("facts").textContent = sentence(facts(page));
  find("flags").replaceChildren(...flagsOf(page));
  find("downloads").replaceChildren(...downloadRows(base, job, working()));
}

/** Show no explained layer any more. */
function dropLayer() {
  if (layer) URL.revokeObjectURL(layer.address);
  layer = null;
  find("layer").value = "result";
  find("legend").hidden = find("trial").hidden = true;
  viewer.afterTag.textContent = "Result";
  delete find("viewer").dataset.shown;
}

/** Show a layer of the current page with these settings; the service runs the network for it. */
async function explain(name, query, trial) {
  if (work) work.abort();
  const mine = turn;
  const control = (work = new AbortController());
  const address = `v1/jobs/${job.id}/files/${current.file}/pages/${current.page}/layers/${name}?${query}`;
  showWork("Explaining the page", null, "", true);
  if (!working()) poll(mine);
  try {
    const found = await picture(address, control.signal);
    if (control !== work || mine !== turn) return;
    dropLayer();
    layer = found;
    find("layer").value = name;
    find("trial").hidden = !trial;
    showLegend(name, found);
    renderPage();
  } catch (error) {
    if (control === work && error.name !== "AbortError") fail([...failuresOf(job), error.message]);
    if (control === work) find("layer").value = layer ? find("layer").value : "result";
  } finally {
    if (control === work) {
      work = null;
      renderWork();
      settingsChanged();
    }
  }
}

function showLegend(name, found) {
  viewer.afterTag.textContent = RIGHT_SIDES[name];
  find("legend").hidden = !(name in LAYERS);
  find("legend-words").textContent = LAYERS[name] || "";
  find("legend-low").textContent = found.low;
  find("legend-high").textContent = found.high;
  find("legend-colours").className = `colours ${name === "probability" ? "grey" : "viridis"}`;
  Object.assign(find("layer-link"), { href: found.address, download: `${name}.png` });
}

/** Say whether the form differs from the job, and offer what can be done. */
function settingsChanged() {
  if (!form) return;
  const several = job && pagesOf(job).length > 1;
  find("apply").textContent = several ? "Apply to all pages" : "Apply";
  const changed = Boolean(job) && form.query() !== applied;
  find("apply").disabled = !changed || Boolean(upload);
  find("try").disabled = !changed || !shownPage();
  find("settings-hint").textContent = changed ? "These settings are not applied yet." : "";
  if (job) remember();
}

async function apply() {
  const mine = ++turn;
  if (work) work.abort();
  work = null;
  const query = form.query();
  dropLayer();
  for (const id of ["told", "downloads", "explain"]) find(id).hidden = true;
  showWork("Starting again with these settings", null, "", true);
  try {
    job = await call(`v1/jobs/${job.id}?${query}`, { method: "PUT" });
    applied = query;
    render();
  } catch (error) {
    fail([error.message]);
  }
  poll(mine);
}

async function cancel() {
  if (upload) upload.abort();
  else if (work) work.abort();
  else if (working()) await call(`v1/jobs/${job.id}/cancel`, { method: "POST" }).catch((error) => fail([error.message]));
}

/** Go to the page that is so many places after the one that is shown. */
function turnPage(step) {
  const pages = pagesOf(job).filter((page) => page.status === "done");
  const index = pages.findIndex((page) => page.file === current.file && page.page === current.page);
  const next = pages[(index + step + pages.length) % pages.length];
  select(next.file, next.page);
}

async function sample(name) {
  const answer = await fetch(`page/${name}`);
  start([new File([await answer.blob()], name, { type: "image/jpeg" })]);
}

function listen() {
  const files = find("files");
  files.addEventListener("change", () => {
    start([...files.files]);
    files.value = "";
  });
  const drop = find("drop");
  const over = (step) => drop.classList.toggle("over", (dragged = step && Math.max(0, dragged + step)) > 0);
  addEventListener("dragenter", () => over(1));
  addEventListener("dragleave", () => over(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    over(0);
    start([...event.dataTransfer.files]);
  });
  for (const button of document.querySelectorAll("[data-sample]")) {
    button.addEventListener("click", () => sample(button.dataset.sample).catch((error) => fail([error.message])));
  }
  find("cancel").addEventListener("click", cancel);
  find("remove").addEventListener("click", () => clear());
  find("previous").addEventListener("click", () => turnPage(-1));
  find("next").addEventListener("click", () => turnPage(1));
  find("try").addEventListener("click", () => explain("result", form.query(), true));
  find("defaults").addEventListener("click", () => (form.set(), settingsChanged()));
  find("settings").addEventListener("submit", (event) => (event.preventDefault(), apply()));
  find("layer").addEventListener("change", (event) => {
    const trial = !find("trial").hidden;
    const name = event.target.value;
    if (name === "result" && !trial) (dropLayer(), renderPage());
    else explain(name, trial ? form.query() : applied, trial);
  });
}

/** Show the job of before a reload again. */
async function resume() {
  const stored = JSON.parse(sessionStorage.getItem("drmamba") || "null");
  if (!stored) return;
  try {
    job = await call(`v1/jobs/${stored.job}`);
    [current, applied] = [stored.current, stored.applied];
    form.setQuery(stored.query);
    render();
    poll(turn);
  } catch (error) {
    job = null;
    remember();
    if (error.status === 404) fail([error.message]);
  }
}

async function main() {
  listen();
  const described = await call("openapi.json");
  const parameters = described.paths["/v1/jobs"].post.parameters;
  form = new SettingsForm(find("settings-main"), find("settings-more"), parameters, settingsChanged);
  await resume();
  setInterval(() => job && !working() && !work && poll(turn), ALIVE_MILLISECONDS);
}

main();
