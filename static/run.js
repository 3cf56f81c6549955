// The chunks of a run: one cell each, drawn on a canvas, so that 5,000 of them cost what 50 do.
"use strict";

const CELL = 10; // with its gap; smaller when there are very many
const GAP = 2;
const MOST_ROWS = 40;

class ChunkGrid extends HTMLElement {
  connectedCallback() {
    // While the page is still being read, what is inside of us has not come yet.
    if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", () => this.begin(), { once: true });
    } else {
      this.begin();
    }
  }

  begin() {
    this.canvas = this.querySelector("canvas");
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this);
    this.theme = new MutationObserver(() => this.draw());
    this.theme.observe(document.documentElement, { attributeFilter: ["class"] });
    this.canvas.addEventListener("mousemove", (event) => this.name(event));
    this.canvas.addEventListener("click", (event) => this.open(event));
    this.draw();
  }

  disconnectedCallback() {
    this.watch?.disconnect();
    this.theme?.disconnect();
  }

  draw() {
    const cells = this.dataset.cells;
    const width = this.clientWidth;
    if (!width) return;
    this.cell = CELL;
    while (this.cell > 4 && Math.ceil(cells.length / this.columns(width)) > MOST_ROWS) this.cell -= 1;
    const columns = this.columns(width);
    const height = Math.ceil(cells.length / columns) * this.cell;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(this);
    const gap = this.cell > 6 ? GAP : 1;
    const colours = {};
    pen.scale(ratio, ratio);
    for (let index = 0; index < cells.length; index += 1) {
      const letter = cells[index];
      colours[letter] ??= style.getPropertyValue(`--r-${letter}`);
      pen.fillStyle = colours[letter];
      const left = (index % columns) * this.cell;
      const top = Math.floor(index / columns) * this.cell;
      pen.fillRect(left, top, this.cell - gap, this.cell - gap);
    }
  }

  columns(width) {
    return Math.max(1, Math.floor(width / this.cell));
  }

  numberAt(event) {
    const column = Math.floor(event.offsetX / this.cell);
    const columns = this.columns(this.clientWidth);
    const index = Math.floor(event.offsetY / this.cell) * columns + column;
    return column < columns && index < this.dataset.cells.length ? index + 1 : 0;
  }

  name(event) {
    const number = this.numberAt(event);
    this.canvas.title = number ? `${number.toLocaleString(document.documentElement.lang || "en")}` : "";
  }

  open(event) {
    const number = this.numberAt(event);
    if (!number) return;
    document.getElementById("chunk-number").value = number;
    window.htmx.ajax("GET", `${this.dataset.url}?chunk=${number}`, { target: "#chunk-detail", swap: "innerHTML" });
  }
}

customElements.define("chunk-grid", ChunkGrid);

// What was spoken is heard once. If it stayed, whoever reads on would meet an old share beside the
// new one of the totals.
const HEARD_AFTER = 3000;

document.addEventListener("htmx:oobAfterSwap", (event) => {
  const spoken = event.detail.target;
  if (spoken.id !== "run-spoken") return;
  const said = document.getElementById("run-spoken");
  setTimeout(() => said.replaceChildren(), HEARD_AFTER);
});
