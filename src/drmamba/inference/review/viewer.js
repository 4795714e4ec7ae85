/*
 * PageViewer shows a page before and after conversion under one slider, at full resolution.
 *
 *   const viewer = new PageViewer(container, options);   // container: an empty block element of the document
 *   await viewer.show({before, after, width, height, boxes});
 *   viewer.clear();
 *   viewer.destroy();
 *
 * options (all optional)
 *   label         name of the viewer for screen readers ("Page before and after")
 *   beforeLabel   word on the left side of the slider ("Before"); afterLabel ("After") the one on the right
 *   kinds         {kind: {name, meaning}} in words; the defaults are KINDS below
 *   empty         text that is shown while there is no page
 *   onview        called with {scale, fit, divider} after each change of the view
 *
 * show(page) replaces what is shown and returns a promise of true, or of false if another call overtook it.
 *   before, after   addresses of pictures (relative, data: or blob:); either may be missing, then there is no slider
 *   width, height   size of the page in pixels; if missing, that of the picture `after` (or `before`). Pictures of
 *                   another size, such as a preview, are stretched to it, so a preview may be replaced later
 *   boxes           [{left, top, right, bottom, kind, label}] in page pixels; kinds `lost_content`, `kept_dirt`
 *   alt             what the page is, for screen readers ("page 3 of letter.pdf")
 *   id              names the page; without it, `before` does. A page with the id and the size of the last one keeps
 *                   zoom, place and slider, so that a result can be added to a scan that is already looked at, and
 *                   the full page can take the place of a preview
 *   A picture that cannot be loaded is named in the viewer, and a preview of it stays; nothing is thrown.
 *
 * View: fit() · zoomTo(scale, x, y) with scale 1 = 100 % and an optional fixed point in the stage · panBy(x, y) ·
 *   setDivider(0..1) · flip() between all before and all after · goToBox(index) · showBoxes(true | false) ·
 *   handleKey(event): lets a host pass on its key events; true if the viewer used one.
 * Keys: arrows move the page (or the slider, when all of the page is visible; Shift moves farther), + and - zoom,
 *   0 fits, 1 and 2 are 100 % and 200 %, X flips, M and Shift+M go to the next and the previous marked place.
 *   Wheel and pinch zoom. Dragging moves the page, or the slider, when all of the page is visible.
 *
 * Colours are CSS variables of viewer.css, light and dark by prefers-color-scheme, or by data-theme="light|dark" or the
 * class `dark` on an ancestor; --pv-height is the height of the stage. Nothing is loaded except the pictures given.
 */
(function () {
  "use strict";

  const LARGEST_SCALE = 32; // 3,200 %
  const ARROW_STEP = 80; // CSS pixels
  const KINDS = {
    lost_content: { name: "Lost content", meaning: "writing of the scan that may be missing in the result" },
    kept_dirt: { name: "Kept dirt", meaning: "ink of the result that may be a stain of the scan" },
  };

  const WORDS = { label: "Page before and after", beforeLabel: "Before", afterLabel: "After", empty: "No page yet." };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high));

  /** Return a new element with these attributes and children. */
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /** Load a picture into an element; the promise is of null, or of the reason why it cannot be shown. */
  function load(image, address) {
    return new Promise((resolve) => {
      const ready = () => resolve(null);
      image.onload = () => image.decode().then(ready, ready); // decoded first, so that no blank page flashes up
      image.onerror = () => resolve(`The picture ${address.slice(0, 120)} cannot be loaded.`);
      image.src = address;
    });
  }

  globalThis.PageViewer = class PageViewer {
    constructor(container, options) {
      this.options = Object.assign({}, WORDS, options);
      this.kinds = Object.assign({}, KINDS, this.options.kinds);
      this.container = container;
      this.pointers = new Map(); // pointer id -> its last place in the stage
      this.dragging = "page"; // or "divider"
      this.turn = 0; // counts the calls of show and clear
      this._build();
      this._listen();
      this.clear();
    }

    async show(page) {
      const turn = ++this.turn;
      const alt = page.alt || "the page";
      const picture = (side) => make("img", { alt: `${alt}, ${side}`, draggable: "false", class: "pv-image" });
      const images = [page.before && picture("before"), page.after && picture("after")];
      this._say("Loading …");
      this.container.setAttribute("aria-busy", "true");
      const loads = [page.before, page.after].map((address, side) => (address ? load(images[side], address) : null));
      const faults = await Promise.all(loads);
      if (turn !== this.turn) return false;
      const id = page.id || page.before;
      const same = id && id === this.id; // a preview of the same page stays where a picture cannot be loaded
      const [before, after] = images.map((image, side) => (faults[side] ? same && this.sides[side] : image));
      const measure = after || before || { naturalWidth: 0, naturalHeight: 0 };
      const width = page.width || measure.naturalWidth;
      const height = page.height || measure.naturalHeight;
      const kept = same && width === this.width && height === this.height;
      Object.assign(this, { id, width, height });
      this._fill(before, after, page.boxes, faults.filter(Boolean).join(" "));
      if (!kept) this.divider = 0.5;
      if (!kept || this.fits) this.fit();
      else this._draw();
      return true;
    }

    clear() {
      this.turn += 1;
      Object.assign(this, { id: null, width: 0, height: 0, scale: 1, x: 0, y: 0, divider: 0.5, fits: true });
      this._fill(null, null, [], "");
      this._draw();
    }

    destroy() {
      this.turn += 1;
      this.observer.disconnect();
      this.container.replaceChildren();
      this.container.classList.remove("page-viewer", "pv-compares", "pv-empty");
    }

    fit() {
      const stage = this._stageSize();
      this.fits = true;
      if (this.width && stage.width) {
        this.scale = Math.min(stage.width / this.width, stage.height / this.height, LARGEST_SCALE);
      }
      this._draw();
    }

    zoomTo(scale, x, y) {
      const stage = this._stageSize();
      const [fixed_x, fixed_y] = [x === undefined ? stage.width / 2 : x, y === undefined ? stage.height / 2 : y];
      const smallest = Math.min(stage.width / this.width, stage.height / this.height, 1);
      const factor = clamp(scale, smallest, LARGEST_SCALE) / this.scale;
      this.fits = false;
      Object.assign(this, { x: fixed_x - (fixed_x - this.x) * factor, y: fixed_y - (fixed_y - this.y) * factor });
      this.scale *= factor;
      this._draw();
    }

    panBy(x, y) {
      Object.assign(this, { x: this.x + x, y: this.y + y });
      this._draw();
    }

    setDivider(fraction) {
      this.divider = clamp(fraction, 0, 1);
      this._draw();
    }

    flip() {
      this.setDivider(this.divider < 0.5 ? 1 : 0);
    }

    showBoxes(visible) {
      this.boxLayer.hidden = !visible;
      this.boxSwitch.checked = visible;
    }

    /** Bring a marked place to the middle of the stage, large enough to judge, and say what it is. */
    goToBox(index) {
      if (!this.boxes.length) return;
      this.boxIndex = (index + this.boxes.length) % this.boxes.length;
      const box = this.boxes[this.boxIndex];
      const stage = this._stageSize();
      const room = Math.min(stage.width / (box.right - box.left), stage.height / (box.bottom - box.top));
      this.showBoxes(true);
      [...this.boxLayer.children].forEach((item, i) => item.classList.toggle("pv-chosen", i === this.boxIndex));
      this.fits = false;
      this.scale = clamp(room / 3, 0.5, 2);
      this.x = stage.width / 2 - ((box.left + box.right) / 2) * this.scale;
      this.y = stage.height / 2 - ((box.top + box.bottom) / 2) * this.scale;
      this._draw();
      const what = box.label || this._kind(box.kind).name;
      this._say(`Marked place ${this.boxIndex + 1} of ${this.boxes.length}: ${what}.`);
    }

    handleKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.images.length) return false;
      const step = event.shiftKey ? ARROW_STEP * 5 : ARROW_STEP;
      const whole = this._wholePageVisible();
      const across = (sign) =>
        whole ? this.setDivider(this.divider + (sign * step) / 4000) : this.panBy(-sign * step, 0);
      const actions = {
        ArrowLeft: () => across(-1),
        ArrowRight: () => across(1),
        "+": () => this.zoomTo(this.scale * 1.25),
        "-": () => this.zoomTo(this.scale / 1.25),
        0: () => this.fit(),
        1: () => this.zoomTo(1),
        2: () => this.zoomTo(2),
        x: () => this.flip(),
        m: () => this.goToBox(this.boxIndex + (event.shiftKey ? -1 : 1)),
      };
      if (!whole) {
        actions.ArrowUp = () => this.panBy(0, step);
        actions.ArrowDown = () => this.panBy(0, -step);
      }
      const key = event.key === "=" ? "+" : event.key; // the same key without Shift
      const action = actions[key.length === 1 ? key.toLowerCase() : key];
      if (!action) return false;
      action();
      event.preventDefault();
      return true;
    }

    /** Put pictures (or null) and marks into the stage and a fault, if there is one, into words. */
    _fill(before, after, boxes, fault) {
      this.sides = [before, after];
      this.images = this.sides.filter(Boolean);
      this.both = this.images.length === 2;
      this.beforeLayer.replaceChildren(...(before ? [before] : []));
      this.afterLayer.replaceChildren(...(after ? [after] : []));
      this.container.classList.toggle("pv-compares", this.both);
      this.container.classList.toggle("pv-empty", !this.images.length);
      this.container.setAttribute("aria-busy", "false");
      [this.beforeTag.hidden, this.afterTag.hidden] = [!before, !after];
      for (const button of this.buttons) button.disabled = !this.images.length;
      this.flipButton.disabled = !this.both;
      this._setBoxes(boxes || []);
      this._say(fault || (this.images.length ? "" : this.options.empty));
    }

    _build() {
      const button = (text, title, action) => {
        const element = make("button", { type: "button", class: "pv-button", title, "aria-label": title }, text);
        element.addEventListener("click", action);
        return element;
      };
      const fit = button("Fit", "Fit: all of the page (0)", () => this.fit());
      const full = button("100 %", "100 %: one page pixel on one screen pixel (1)", () => this.zoomTo(1));
      const double = button("200 %", "200 % (2)", () => this.zoomTo(2));
      const out = button("−", "Zoom out (-)", () => this.zoomTo(this.scale / 1.5));
      const into = button("+", "Zoom in (+)", () => this.zoomTo(this.scale * 1.5));
      this.zoomText = make("span", { class: "pv-zoom" });
      this.flipButton = button("Flip", "Flip between before and after (X)", () => this.flip());
      this.nextButton = button("Next mark", "Go to the next marked place (M)", () => this.goToBox(this.boxIndex + 1));
      this.boxSwitch = make("input", { type: "checkbox", class: "pv-check" });
      this.boxSwitch.checked = true;
      this.boxSwitch.addEventListener("change", () => this.showBoxes(this.boxSwitch.checked));
      this.boxCount = make("span");
      const box_label = make("label", { class: "pv-switch" }, this.boxSwitch, this.boxCount);
      this.boxTools = make("span", { class: "pv-group" }, box_label, this.nextButton);
      this.buttons = [fit, full, double, out, into];
      const sizes = make("span", { class: "pv-group" }, fit, full, double);
      const steps = make("span", { class: "pv-group" }, out, this.zoomText, into);
      const bar = make("div", { class: "pv-bar", role: "group", "aria-label": "View" });
      bar.append(sizes, steps, this.flipButton, this.boxTools);
      this.beforeLayer = make("div", { class: "pv-layer pv-before" });
      this.afterLayer = make("div", { class: "pv-layer" });
      this.boxLayer = make("div", { class: "pv-boxes", "aria-hidden": "true" });
      this.beforeTag = make("span", { class: "pv-tag pv-tag-before", "aria-hidden": "true" }, this.options.beforeLabel);
      this.afterTag = make("span", { class: "pv-tag pv-tag-after", "aria-hidden": "true" }, this.options.afterLabel);
      const sides = `${this.options.beforeLabel} and ${this.options.afterLabel}`;
      const range = { "aria-label": sides, "aria-valuemin": "0", "aria-valuemax": "100" };
      this.handle = make("div", { class: "pv-handle", role: "slider", tabindex: "0", ...range });
      this.dividerLine = make("div", { class: "pv-divider" }, this.handle);
      const above = make("div", { class: "pv-layer pv-above" }, this.boxLayer);
      const name = { role: "group", tabindex: "0", "aria-label": this.options.label };
      this.stage = make("div", { class: "pv-stage", ...name }, this.afterLayer, this.beforeLayer, above);
      this.stage.append(this.beforeTag, this.afterTag, this.dividerLine);
      this.status = make("p", { class: "pv-status", role: "status" });
      this.legend = make("ul", { class: "pv-legend" });
      this.container.classList.add("page-viewer");
      this.container.replaceChildren(bar, this.stage, this.status, this.legend);
    }

    _listen() {
      this.observer = new ResizeObserver(() => (this.fits ? this.fit() : this._draw()));
      this.observer.observe(this.stage);
      this.stage.addEventListener("keydown", (event) => event.target === this.stage && this.handleKey(event));
      this.handle.addEventListener("keydown", (event) => this._slide(event));
      this.stage.addEventListener("wheel", (event) => this._wheel(event), { passive: false });
      this.stage.addEventListener("pointerdown", (event) => this._press(event));
      this.stage.addEventListener("pointermove", (event) => this._move(event));
      this.stage.addEventListener("pointerup", (event) => this.pointers.delete(event.pointerId));
      this.stage.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    }

    _setBoxes(boxes) {
      this.boxes = boxes;
      this.boxIndex = -1;
      const elements = this.boxes.map((box) => {
        const label = box.label || this._kind(box.kind).name;
        const element = make("div", { class: `pv-box pv-${box.kind}` }, make("span", { class: "pv-box-label" }, label));
        const across = (value) => `${(100 * value) / this.width}%`;
        const down = (value) => `${(100 * value) / this.height}%`;
        Object.assign(element.style, { left: across(box.left), width: across(box.right - box.left) });
        Object.assign(element.style, { top: down(box.top), height: down(box.bottom - box.top) });
        return element;
      });
      this.boxLayer.replaceChildren(...elements);
      this.boxTools.hidden = this.legend.hidden = !this.boxes.length;
      this.boxCount.textContent = this.boxes.length === 1 ? "1 mark" : `${this.boxes.length} marks`;
      const lines = [...new Set(this.boxes.map((box) => box.kind))].map((kind) => {
        const { name, meaning } = this._kind(kind);
        return make("li", {}, make("span", { class: `pv-sample pv-${kind}` }), meaning ? `${name}: ${meaning}` : name);
      });
      this.legend.replaceChildren(...lines);
    }

    _kind(kind) {
      return this.kinds[kind] || { name: String(kind).replaceAll("_", " "), meaning: "" };
    }

    _say(text) {
      this.status.textContent = text;
    }

    _place(event) {
      const box = this.stage.getBoundingClientRect();
      return { x: event.clientX - box.left - this.stage.clientLeft, y: event.clientY - box.top - this.stage.clientTop };
    }

    _wheel(event) {
      if (!this.images.length) return;
      event.preventDefault();
      const { x, y } = this._place(event);
      const lines = event.deltaMode === 1 ? 30 : 1; // Firefox counts lines, the others pixels
      const speed = event.ctrlKey ? 0.01 : 0.002; // a pinch on a touch pad arrives as small steps with Ctrl
      this.zoomTo(this.scale * Math.exp(-clamp(event.deltaY * lines, -300, 300) * speed), x, y);
    }

    _press(event) {
      if (!this.images.length || event.button > 0) return;
      this.pointers.set(event.pointerId, this._place(event));
      this.stage.setPointerCapture(event.pointerId);
      const on_handle = event.target === this.handle || event.target === this.dividerLine;
      this.dragging = this.both && (on_handle || this._wholePageVisible()) ? "divider" : "page";
      if (on_handle) this.handle.focus({ preventScroll: true });
      else this.stage.focus({ preventScroll: true });
    }

    _move(event) {
      const last = this.pointers.get(event.pointerId);
      if (!last) return;
      const now = this._place(event);
      this.pointers.set(event.pointerId, now);
      if (this.pointers.size === 2) {
        const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
        const distance = (point) => Math.max(Math.hypot(point.x - other.x, point.y - other.y), 1);
        this.dragging = "page";
        this.panBy((now.x - last.x) / 2, (now.y - last.y) / 2);
        this.zoomTo((this.scale * distance(now)) / distance(last), (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else if (this.dragging === "divider") {
        const [left, right] = this._visibleRange();
        this.setDivider((now.x - left) / Math.max(right - left, 1));
      } else this.panBy(now.x - last.x, now.y - last.y);
    }

    _slide(event) {
      const arrows = { ArrowLeft: -0.02, ArrowDown: -0.02, ArrowRight: 0.02, ArrowUp: 0.02 };
      const steps = { ...arrows, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      event.stopPropagation();
      this.setDivider(this.divider + steps[event.key]);
    }

    _stageSize() {
      return { width: this.stage.clientWidth, height: this.stage.clientHeight };
    }

    _wholePageVisible() {
      const stage = this._stageSize();
      return this.width * this.scale <= stage.width + 1 && this.height * this.scale <= stage.height + 1;
    }

    /** Return the left and the right end of the visible part of the page, in the stage. */
    _visibleRange() {
      return [Math.max(this.x, 0), Math.min(this.x + this.width * this.scale, this._stageSize().width)];
    }

    _draw() {
      const stage = this._stageSize();
      const [width, height] = [this.width * this.scale, this.height * this.scale];
      const held = (place, size, room) => (size <= room ? (room - size) / 2 : clamp(place, room - size, 0));
      this.x = held(this.x, width, stage.width);
      this.y = held(this.y, height, stage.height);
      for (const element of [...this.images, this.boxLayer]) {
        Object.assign(element.style, { left: `${Math.round(this.x)}px`, top: `${Math.round(this.y)}px` });
        Object.assign(element.style, { width: `${width}px`, height: `${height}px` });
        element.style.imageRendering = this.scale >= 1 ? "pixelated" : "auto";
      }
      const [left, right] = this._visibleRange();
      const split = left + (right - left) * this.divider;
      this.beforeLayer.style.clipPath = this.both ? `inset(0 ${stage.width - split}px 0 0)` : "none";
      this.dividerLine.style.left = `${split}px`;
      const per_cent = Math.round(100 * this.divider);
      this.handle.setAttribute("aria-valuenow", String(per_cent));
      this.handle.setAttribute("aria-valuetext", `${per_cent} % ${this.options.beforeLabel.toLowerCase()}`);
      this.stage.style.touchAction = this._wholePageVisible() ? "pan-y" : "none";
      this.zoomText.textContent = this.images.length ? `${Math.round(100 * this.scale)} %` : "";
      const pressed = [this.fits, !this.fits && this.scale === 1, !this.fits && this.scale === 2];
      pressed.forEach((on, number) => this.buttons[number].setAttribute("aria-pressed", String(on)));
      if (this.options.onview) this.options.onview({ scale: this.scale, fit: this.fits, divider: this.divider });
    }
  };
})();
