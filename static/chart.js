// A chart says its values: under the pointer, and to the keyboard. They are the rows of the table
// beside it, so that a drawing and its numbers never differ.
"use strict";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };

class ChartValues extends HTMLElement {
  connectedCallback() {
    this.tip = document.createElement("output");
    this.tip.className = "c-chart-tip";
    this.tip.hidden = true;
    this.append(this.tip);
    this.at = null;
    this.addEventListener("pointermove", (event) => this.show(this.under(event.clientX)));
    this.addEventListener("pointerleave", () => this.hide());
    this.addEventListener("focusout", () => this.hide());
    this.addEventListener("keydown", (event) => this.step(event));
  }

  rows() {
    return document.getElementById(this.getAttribute("for"))?.tBodies[0].rows ?? [];
  }

  /** Points stand at both ends of a line; bars each have a place of their own. */
  ends() {
    return document.getElementById(this.getAttribute("for"))?.dataset.ends !== undefined;
  }

  drawing() {
    return this.querySelector("[data-drawing]").getBoundingClientRect();
  }

  under(x) {
    const { left, width } = this.drawing();
    const part = Math.min(1, Math.max(0, (x - left) / width));
    const count = this.rows().length;
    return this.ends() ? Math.round(part * (count - 1)) : Math.min(count - 1, Math.floor(part * count));
  }

  step(event) {
    const last = this.rows().length - 1;
    const to = { Home: 0, End: last }[event.key]
      ?? (event.key in STEPS ? (this.at ?? (STEPS[event.key] > 0 ? -1 : last + 1)) + STEPS[event.key] : null);
    if (event.key === "Escape") this.hide();
    if (to === null) return;
    event.preventDefault();
    this.show(Math.min(last, Math.max(0, to)));
  }

  show(at) {
    const row = this.rows()[at];
    if (!row) return;
    this.at = at;
    const heads = [...row.closest("table").tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    const [first, ...values] = [...row.cells].map((cell) => cell.textContent.trim());
    this.tip.textContent = `${first} · ${values.map((value, index) => `${heads[index + 1]}: ${value}`).join(" · ")}`;
    this.tip.hidden = false;
    const { left, width } = this.drawing();
    const count = this.rows().length;
    const part = this.ends() ? at / Math.max(1, count - 1) : (at + 0.5) / count;
    const own = this.getBoundingClientRect();
    const half = this.tip.offsetWidth / 2;
    const middle = left - own.left + part * width;
    this.style.setProperty("--c-at", `${middle}px`);
    this.tip.style.left = `${Math.min(own.width - half, Math.max(half, middle))}px`;
    this.classList.add("c-chart-said");
  }

  hide() {
    this.at = null;
    this.tip.hidden = true;
    this.classList.remove("c-chart-said");
  }
}

customElements.define("chart-values", ChartValues);
