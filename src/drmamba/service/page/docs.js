/* The description of the API for people, made from openapi.json. */

const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  element.append(text, ...children);
  return element;
};

/** Return the values that a parameter takes, in words. */
function values(schema) {
  if (schema.anyOf) return schema.anyOf.map(values).join(" or ");
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum) return schema.enum.join(", ");
  const low = schema.minimum ?? schema.exclusiveMinimum;
  const high = schema.maximum ?? schema.exclusiveMaximum;
  const range = low === undefined ? "" : ` from ${low}${high === undefined ? "" : ` to ${high}`}`;
  return `${schema.type || "any"}${range}`;
}

function table(name, head, rows) {
  const header = make("tr", "", ...head.map((words) => Object.assign(make("th", words), { scope: "col" })));
  const body = rows.map((row) => make("tr", "", ...row.map((cell) => make("td", cell ?? ""))));
  const wide = make("div", "", make("table", "", make("thead", "", header), make("tbody", "", ...body)));
  return Object.assign(wide, { className: "wide", tabIndex: 0, role: "region", ariaLabel: name });
}

function operation(path, method, { summary, description, parameters = [], responses }) {
  const parts = [make("h2", `${method.toUpperCase()} ${path}`), make("p", `${summary}. ${description || ""}`)];
  if (parameters.length) {
    const rows = parameters.map((one) => [
      one.name, one.in, values(one.schema), String(one.schema.default ?? ""), one.description,
    ]);
    parts.push(table(`Parameters of ${method} ${path}`, ["Parameter", "In", "Values", "Default", "Meaning"], rows));
  }
  const answers = Object.entries(responses).map(([status, answer]) => [
    status, answer.description, Object.keys(answer.content || {}).join(", "),
  ]);
  parts.push(table(`Answers of ${method} ${path}`, ["Status", "Answer", "Content"], answers));
  return parts;
}

const api = await (await fetch("openapi.json")).json();
const target = document.getElementById("paths");
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, described] of Object.entries(methods)) target.append(...operation(path, method, described));
}
const here = new URL("v1/binarize", location.href);
document.getElementById("example").textContent = `curl -F file=@scan.jpg "${here}?format=tiff&threshold=0.4" -o page.tif`;
