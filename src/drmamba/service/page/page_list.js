/* The list of the pages of a job: a small picture, the name, and a mark where somebody should look. */

/** Return the pages of a job in order, each with its file's number, name and title. */
export function pagesOf(job) {
  return job.files.flatMap((file, index) =>
    file.pages.map((page) => {
      const place = page.pages > 1 ? `, page ${page.page} of ${page.pages}` : "";
      return { ...page, file: index + 1, name: file.name, title: file.name + place };
    }),
  );
}

/** Return what could not be converted, in words. */
export function failuresOf(job) {
  const files = job.files.filter((file) => file.problem && !file.pages.length);
  const pages = job.files.flatMap((file) => file.pages.filter((page) => page.problem));
  return [...files, ...pages].map((one) => one.problem.detail);
}

/** Show the pages that are done; `chosen` is called with the page that is clicked. */
export function showPages(list, job, current, chosen) {
  const pages = pagesOf(job).filter((page) => page.status === "done");
  const known = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = pages.map((page) => {
    const key = `${job.id}/${job.run}/${page.file}/${page.page}`;
    const item = known.get(key) || listItem(key, job, page, chosen);
    const here = current && current.file === page.file && current.page === page.page;
    item.firstChild.setAttribute("aria-current", String(Boolean(here)));
    return item;
  });
  list.replaceChildren(...items);
}

function listItem(key, job, page, chosen) {
  const item = document.createElement("li");
  item.dataset.key = key;
  const button = document.createElement("button");
  button.type = "button";
  const image = document.createElement("img");
  Object.assign(image, { alt: "", loading: "lazy", src: `${page.address.slice(1)}/thumbnail?run=${job.run}` });
  button.append(image, page.title);
  if (page.warnings.length) {
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.textContent = "⚠ look at this page";
    button.append(mark);
  }
  button.addEventListener("click", () => chosen(page));
  item.append(button);
  return item;
}
