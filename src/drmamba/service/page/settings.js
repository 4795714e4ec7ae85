/* The form of the settings, which is built from the description of the API and so has all of them. */

const MAIN = ["keep", "threshold", "suppress"]; // the others are under "More settings"
const HIDDEN = ["format", "soft"]; // a job makes PNG files; downloads offer the other formats
const SLIDERS = { threshold: { min: 0.05, max: 0.95, step: 0.01 }, suppress: { min: 0, max: 4, step: 0.05 } };

/** Return a new element with these attributes and children. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export class SettingsForm {
  /** Build the fields in two containers; `changed` is called after each change. */
  constructor(main, more, parameters, changed) {
    this.fields = new Map(); // name -> {read, write, fallback}
    for (const parameter of parameters.filter(({ name }) => !HIDDEN.includes(name))) {
      const field = this._field(parameter);
      (MAIN.includes(parameter.name) ? main : more).append(field);
      field.addEventListener("input", () => changed());
    }
  }

  /** Return the settings that differ from the defaults, as a query. */
  query() {
    const query = new URLSearchParams();
    for (const [name, { read, fallback }] of this.fields) {
      const value = read();
      if (value !== "" && value !== String(fallback)) query.set(name, value);
    }
    return query.toString();
  }

  /** Show these settings; those that are missing get their defaults. */
  set(values = {}) {
    for (const [name, { write, fallback }] of this.fields) write(name in values ? values[name] : fallback);
  }

  /** Show the settings of a query. */
  setQuery(query) {
    this.set(Object.fromEntries(new URLSearchParams(query)));
  }

  _field({ name, description, schema }) {
    const id = `setting-${name}`;
    const words = name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");
    const label = make("label", { for: id }, words);
    const hint = make("p", { class: "hint", id: `${id}-hint` }, description || "");
    const described = { id, name, "aria-describedby": hint.id };
    const fallback = schema.default;
    let input;
    let row;
    if (schema.type === "boolean") {
      input = make("input", { type: "checkbox", ...described });
      row = make("div", { class: "row" }, input, label);
    } else if (schema.enum) {
      input = make("select", described, ...schema.enum.map((value) => make("option", { value }, value)));
      row = make("div", { class: "row" }, label, input);
    } else {
      const numeric = schema.type === "number" || schema.type === "integer";
      const step = schema.type === "integer" ? 1 : "any";
      const limits = numeric ? { min: schema.minimum, max: schema.maximum, step } : {};
      input = make("input", { type: numeric ? "number" : "text", ...limits, ...described });
      row = make("div", { class: "row" }, label, input);
      if (SLIDERS[name]) this._slider(row, input, SLIDERS[name], words);
    }
    const read = () => (schema.type === "boolean" ? String(input.checked) : input.value.trim());
    const write = (value) => {
      if (schema.type === "boolean") input.checked = String(value) === "true";
      else input.value = value ?? "";
      input.dispatchEvent(new Event("written"));
    };
    this.fields.set(name, { read, write, fallback });
    write(fallback);
    return make("div", { class: "field" }, row, hint);
  }

  _slider(row, input, limits, words) {
    const slider = make("input", { type: "range", "aria-label": `${words}, as a slider`, ...limits });
    const follow = () => (slider.value = input.value);
    input.addEventListener("input", follow);
    input.addEventListener("written", follow);
    slider.addEventListener("input", () => (input.value = slider.value));
    row.append(slider);
  }
}
