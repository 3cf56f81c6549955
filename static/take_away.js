// A chart to take away: its drawing as a picture, its numbers as a file. Both are made here, of what
// the page shows.
"use strict";

const WIDE = 720;
const LINE = 26;
const TOP = 72; // below the title and what it is of
const FORMULA = /(^|;)(?=[\s']*[=+@＝＋－＠-])|^(?='*[\t\r\n])/; // as spreadsheet.py has it
const NOTHING = "–";
const COLUMNS = [390, 565, WIDE - 16]; // where the funnel's numbers end

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
    link.download = `${this.dataset.named}-${inName(this.title())}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // --- Numbers -----------------------------------------------------------------------------------

  /** What the page calls it. */
  title() {
    const group = this.closest("[role=group][aria-label]");
    return group ? group.getAttribute("aria-label") : textOf(this.closest("section").querySelector("h2"));
  }

  /** A share beside a count is a column of its own; the sign of shares stands once, in the head. */
  csv() {
    const rows = [...this.named("numbers").rows].map((row) => [...row.cells]);
    const [head, ...lines] = rows;
    const columns = head.flatMap((top, at) => {
      const cells = lines.map((row) => row[at]).filter(Boolean);
      const own = column(ownText(top), cells.map(ownText));
      if (!cells.some((each) => each.querySelector("small"))) return [own];
      return [own, column(ownText(top), cells.map((each) => shareOf(each)))];
    });
    return rows.map((_, at) => columns.map((each) => cell(each[at] ?? "")).join(",") + "\r\n").join("");
  }

  // --- Picture -----------------------------------------------------------------------------------

  svg() {
    const { color, fontFamily } = getComputedStyle(this);
    this.ink = painted("fill", color);
    const { high, drawn } = this.dataset.rows ? this.rowsDrawn() : this.drawingDrawn();
    const ground = getComputedStyle(this.closest(".c-card")).backgroundColor;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDE} ${high}" width="${WIDE}" height="${high}"`
      + ` font-family="${escaped(fontFamily)}" font-size="12" stroke="none">`
      + `<rect width="100%" height="100%" ${painted("fill", ground)}/>${this.said(16, 28, this.title(), 'font-size="16"')}`
      + `${this.said(16, 48, this.dataset.of)}${drawn}</svg>`;
  }

  /** Each in its own ink: not every program hands it down. */
  said(x, y, text, more = "") {
    return `<text x="${x}" y="${y}" ${this.ink} ${more}>${escaped(text)}</text>`;
  }

  /** The funnel: a bar of each row, as wide as on the page. */
  rowsDrawn() {
    const table = this.named("rows");
    const numbers = (row, y) => [...row.cells].slice(1).map((each, at) => {
      const share = shareOf(each);
      return this.said(COLUMNS[at], y, ownText(each) + (share && ` (${share})`), 'text-anchor="end"');
    }).join("");
    const rows = [...table.tBodies[0].rows].map((row, at) => {
      const bar = row.querySelector(".r-step > span");
      const y = TOP + LINE + at * LINE * 1.6;
      const wide = (WIDE - 32) * parseFloat(bar.style.width) / 100;
      return this.said(16, y, ownText(row.cells[0])) + numbers(row, y)
        + `<rect x="16" y="${y + 6}" width="${wide}" height="8" rx="3" ${painted("fill", getComputedStyle(bar).backgroundColor)}/>`;
    });
    return { high: TOP + LINE + rows.length * LINE * 1.6, drawn: numbers(table.tHead.rows[0], TOP) + rows.join("") };
  }

  drawingDrawn() {
    const figure = this.named("drawing");
    const [left, top, wide, tall] = [64, TOP, WIDE - 84, 220];
    const heights = [...figure.querySelectorAll(".r-heights span")].map((mark) =>
      this.said(left - 8, top + tall * parseFloat(mark.style.top) / 100 + 4, textOf(mark), 'text-anchor="end"'));
    const marks = [...figure.querySelectorAll(".r-times span")];
    const times = marks.map((mark, at) => {
      const part = marks.length > 1 ? at / (marks.length - 1) : 0;
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      return this.said(left + wide * part, top + tall + 20, textOf(mark), `text-anchor="${anchor}"`);
    });
    const shown = figure.querySelector("svg");
    const copy = shown.cloneNode(true);
    const pairs = [shown, copy].map((svg) => [...svg.querySelectorAll("*")]);
    pairs[0].forEach((node, at) => {
      const style = getComputedStyle(node);
      pairs[1][at].setAttribute("stroke-width", style.strokeWidth);
      for (const part of ["fill", "stroke"]) {
        const [colour, opacity] = plain(style[part]);
        pairs[1][at].setAttribute(part, colour);
        if (opacity < 1) pairs[1][at].setAttribute(`${part}-opacity`, opacity);
      }
      if (style.vectorEffect !== "none") pairs[1][at].setAttribute("vector-effect", style.vectorEffect);
    });
    const drawing = `<g transform="translate(${left} ${top}) scale(${wide / 600} ${tall / 140})">${copy.innerHTML}</g>`;
    return { high: top + tall + 40, drawn: [...heights, ...times, drawing].join("") };
  }
}

// --- Colours: as the page draws them, in the one way that every program reads -----------------------

const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });

/** Its hex, and how much of it covers what is behind. */
function plain(colour) {
  if (colour === "none") return [colour, 1];
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  const hex = [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("");
  return [`#${hex}`, +(alpha / 255).toFixed(2)];
}

function painted(part, colour) {
  const [hex, opacity] = plain(colour);
  return `${part}="${hex}"` + (opacity < 1 ? ` ${part}-opacity="${opacity}"` : "");
}

// --- Cells ------------------------------------------------------------------------------------------

/** Of a cell with several things, what is its own: no share, no bar. */
function ownText(one) {
  const own = [...one.childNodes].filter((node) => node.nodeName !== "SMALL" && node.ariaHidden !== "true");
  const text = own.map(textOf).filter(Boolean).join(" · ");
  return text === NOTHING ? "" : text;
}

function shareOf(one) {
  const small = one.querySelector("small");
  return small ? textOf(small) : "";
}

/** Its head and its values; those that are shares lose their sign to the head. */
function column(head, values) {
  const shares = values.some(Boolean) && values.every((value) => !value || /\d\s*%$/.test(value));
  return shares ? [`${head} %`, ...values.map((value) => value.replace(/\s*%$/, ""))] : [head, ...values];
}

/** As a part of a file's name. */
function inName(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
}

/** A number without its commas; no cell is a formula. */
function cell(text) {
  const plain = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text;
  const safe = /^-?\d+(\.\d+)?$/.test(plain) ? plain : plain.replace(FORMULA, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

customElements.define("take-away", TakeAway);
