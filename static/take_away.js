// A chart to take away: its drawing as a picture, its numbers as a file. Both are made here, of what
// the page shows.
"use strict";

const WIDE = 720;
const LINE = 26;
const FORMULA = /(^|;)(?=[\s']*[=+@＝＋－＠-])|^(?='*[\t\r\n])/; // as spreadsheet.py has it
const DRAWN = { fill: "fill", stroke: "stroke", "stroke-width": "strokeWidth" };

const textOf = (node) => node.textContent.replace(/\s+/g, " ").trim();
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

class TakeAway extends HTMLElement {
  connectedCallback() {
    this.hidden = false;
    this.addEventListener("click", (event) => {
      const { as } = event.target.closest("button")?.dataset ?? {};
      if (as === "csv") this.save("\ufeff" + this.csv(), "text/csv", "csv");
      if (as === "svg") this.save(this.svg(), "image/svg+xml", "svg");
    });
  }

  named(what) {
    return document.getElementById(this.dataset[what]);
  }

  save(text, type, ending) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    link.download = `${this.dataset.named}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // --- Numbers -----------------------------------------------------------------------------------

  /** A share beside a count is a column of its own. */
  csv() {
    const rows = [...this.named("numbers").rows].map((row) => [...row.cells]);
    const shares = rows[0].map((_, at) => rows.some((cells) => cells[at]?.querySelector("small")));
    const line = (cells, index) => cells.flatMap((cell, at) => {
      const small = cell.querySelector("small");
      const own = textOf(cell).slice(0, small ? -textOf(small).length || undefined : undefined).trim();
      if (!shares[at]) return [own];
      return [own, index === 0 ? `${own} %` : small ? textOf(small).replace(/\s*%$/, "") : ""];
    });
    return rows.map((cells, index) => line(cells, index).map(cell).join(",") + "\r\n").join("");
  }

  // --- Picture -----------------------------------------------------------------------------------

  svg() {
    const title = textOf(this.closest("section").querySelector("h2"));
    const { color, fontFamily } = getComputedStyle(this);
    const { high, drawn } = this.dataset.rows ? this.rowsDrawn() : this.drawingDrawn();
    const ground = getComputedStyle(this.closest(".c-card")).backgroundColor;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDE} ${high}" width="${WIDE}" height="${high}"`
      + ` font-family="${escaped(fontFamily)}" font-size="12" fill="${color}">`
      + `<rect width="100%" height="100%" fill="${ground}"/>${said(16, 28, title, 'font-size="16"')}${drawn}</svg>`;
  }

  /** The funnel: a bar of each row, as wide as on the page. */
  rowsDrawn() {
    const rows = [...this.named("rows").tBodies[0].rows];
    const drawn = rows.map((row, at) => {
      const [label, ...values] = [...row.cells].map(textOf);
      const bar = row.querySelector(".r-step > span");
      const y = 48 + at * LINE * 1.6;
      const wide = (WIDE - 32) * parseFloat(bar.style.width) / 100;
      return said(16, y + 12, label) + said(WIDE - 16, y + 12, values.filter(Boolean).join(" · "), 'text-anchor="end"')
        + `<rect x="16" y="${y + 18}" width="${wide}" height="8" rx="3" fill="${getComputedStyle(bar).backgroundColor}"/>`;
    });
    return { high: 60 + rows.length * LINE * 1.6, drawn: drawn.join("") };
  }

  drawingDrawn() {
    const figure = this.named("drawing");
    const [left, top, wide, tall] = [64, 48, WIDE - 84, 220];
    const heights = [...figure.querySelectorAll(".r-heights span")].map((mark) =>
      said(left - 8, top + tall * parseFloat(mark.style.top) / 100 + 4, textOf(mark), 'text-anchor="end"'));
    const marks = [...figure.querySelectorAll(".r-times span")];
    const times = marks.map((mark, at) => {
      const part = marks.length > 1 ? at / (marks.length - 1) : 0;
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      return said(left + wide * part, top + tall + 20, textOf(mark), `text-anchor="${anchor}"`);
    });
    const shown = figure.querySelector("svg");
    const copy = shown.cloneNode(true);
    const pairs = [shown, copy].map((svg) => [...svg.querySelectorAll("*")]);
    pairs[0].forEach((node, at) => {
      const style = getComputedStyle(node);
      for (const [name, own] of Object.entries(DRAWN)) pairs[1][at].setAttribute(name, style[own]);
      if (style.vectorEffect !== "none") pairs[1][at].setAttribute("vector-effect", style.vectorEffect);
    });
    const drawing = `<svg x="${left}" y="${top}" width="${wide}" height="${tall}" viewBox="0 0 600 140" preserveAspectRatio="none">`
      + `${copy.innerHTML}</svg>`;
    return { high: top + tall + 40, drawn: [...heights, ...times, drawing].join("") };
  }
}

function said(x, y, text, more = "") {
  return `<text x="${x}" y="${y}" ${more}>${escaped(text)}</text>`;
}

/** A number without its commas; no cell is a formula. */
function cell(text) {
  const plain = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text;
  const safe = /^-?\d+(\.\d+)?$/.test(plain) ? plain : plain.replace(FORMULA, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

customElements.define("take-away", TakeAway);
