// Beside every text of a template: how long it is and where phones cut it, what is wrong with it and
// where, and a way to put in a variable. The preview's answer brings the problems and how much each
// platform shows; the server alone judges.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const bytes = new TextEncoder();
  const letters = window.Intl?.Segmenter
    ? (text) => [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment)
    : (text) => [...text];
  const PANEL = ["preview", "beside"]; // of a template's page, of a campaign's
  const inPanel = (what) => document.querySelectorAll(PANEL.map((id) => `#${id} ${what}`).join(", "));

  // --- How long ----------------------------------------------------------------------------------
  function line(input) {
    let made = input.parentElement.querySelector(`[data-beside="${input.id}"]`);
    if (made) return made;
    made = byId("t-beside").content.firstElementChild.cloneNode(true);
    made.dataset.beside = input.id;
    input.after(made);
    const [insert, emoji, picture] = made.getElementsByTagName("button");
    insert.addEventListener("click", () => open(input));
    insert.setAttribute("aria-label", `${insert.textContent.trim()}: ${labelOf(input)}`);
    if (/[-_](title|body|text)$/.test(input.id)) emoji.addEventListener("click", () => openEmoji(input));
    else emoji.remove();
    if (/[-_]image$/.test(input.id) && byId("t-images")) picture.dataset.for = input.id;
    else picture.remove();
    made.querySelector(".t-wrong").id = `${input.id}-wrong`;
    return made;
  }

  function labelOf(input) {
    return input.labels?.[0]?.textContent.trim() ?? input.name;
  }

  function count(input) {
    const shown = line(input).querySelector(".t-count");
    shown.hidden = !input.value;
    const [long, size] = [letters(input.value).length, bytes.encode(input.value).length];
    const lang = document.documentElement.lang;
    const said = (unit, many) =>
      shown.dataset[unit + (many === 1 ? "One" : "Other")].replace("{count}", many.toLocaleString(lang));
    const cut = cutBy(input);
    const where = cut.length ? [shown.dataset.cut.replace("{platforms}", cut.join(", "))] : [];
    shown.textContent = [said("characters", long), said("bytes", size), ...where].join(" · ");
  }

  // As notifications/fcm/visible_length.py counts: a wide letter takes two places.
  const wide = /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
  const places = (text) => letters(text).reduce((sum, one) => sum + (wide.test(one) ? 2 : 1), 0);

  /** The platforms that cut it even for a person whose values are all empty. */
  function cutBy(input) {
    const name = /(?:^|[-_])(title|body)$/.exec(input.id)?.[1];
    if (!name) return [];
    const long = places(input.value.replace(/\{\{.*?\}\}|\{%.*?%\}/gs, ""));
    const rooms = [...inPanel("[data-room]")].filter(({ dataset }) => long > Number(dataset[name]));
    return rooms.map(({ dataset }) => dataset.room);
  }

  const counted = () => document.querySelectorAll("[data-counted]");
  const countAll = () => counted().forEach(count);
  document.addEventListener("input", (event) => {
    if (event.target.matches?.("[data-counted]")) count(event.target);
  });
  document.addEventListener("template:language", countAll);

  // --- What is wrong, and where ------------------------------------------------------------------
  const problems = () => [...inPanel(".t-problem")];
  const language = () => byId("t-languages")?.dataset.shown ?? "";

  function inputOf({ field, locale }) {
    return byId(locale ? `t-in-${field}` : `id_${field}`);
  }

  function mark() {
    for (const input of counted()) {
      const wrong = problems().filter(
        ({ dataset }) => inputOf(dataset) === input && (!dataset.locale || dataset.locale === language()),
      );
      const said = line(input).querySelector(".t-wrong");
      said.textContent = wrong.map((one) => one.querySelector(".t-words").textContent).join(" ");
      // In a campaign, what the server refused on saving stays said beside it.
      const refused = input.form?.matches("[data-refused]") && byId(`${input.id}_error`);
      input.toggleAttribute("aria-invalid", wrong.length > 0 || Boolean(refused));
      if (input.hasAttribute("aria-invalid")) input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", refused ? `${refused.id} ${said.id}` : said.id);
    }
    const locales = new Set(problems().map(({ dataset }) => dataset.locale).filter(Boolean));
    document.dispatchEvent(new CustomEvent("template:problems", { detail: locales }));
  }

  function goTo({ dataset }) {
    document.dispatchEvent(new CustomEvent("template:show", { detail: dataset.locale || "" }));
    setTimeout(() => {
      const input = inputOf(dataset);
      if (!input) return;
      input.closest("details")?.setAttribute("open", "");
      input.focus();
      const before = input.value.split("\n").slice(0, Math.max(0, dataset.line - 1));
      const at = before.join("\n").length + (before.length ? 1 : 0) + Math.max(0, dataset.column - 1);
      if (Number(dataset.line)) input.setSelectionRange(at, at + 1);
    });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".t-go");
    if (button) goTo(button.closest(".t-problem"));
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!PANEL.includes(event.detail.target?.id)) return;
    mark();
    countAll();
  });
  document.addEventListener("template:language", mark);

  // A choice is kept before it is sent: typing may replace the request, and must not undo it.
  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest("#preview button[hx-vals]");
      if (!button) return;
      for (const [name, value] of Object.entries(JSON.parse(button.getAttribute("hx-vals")))) {
        const kept = document.querySelector(`#preview [name="${name}"]`);
        if (kept) kept.value = value;
      }
    },
    true,
  );

  // --- On a phone: what they read stands above what one writes, for eyes and keyboard alike --------
  document.addEventListener("DOMContentLoaded", () => {
    const narrow = window.matchMedia("(max-width: 640px)");
    const card = byId("preview-card") ?? document.querySelector("[data-above-on-phone]");
    if (!card) return;
    const home = document.createComment("the preview, on a wider screen");
    const place = () => {
      if (narrow.matches && !home.isConnected) {
        card.replaceWith(home);
        home.parentElement.closest(".c-columns").prepend(card);
      } else if (!narrow.matches && home.isConnected) home.replaceWith(card);
    };
    narrow.addEventListener("change", place);
    place();
  });

  // --- Inserting a variable ----------------------------------------------------------------------
  let writing = null;

  function open(input) {
    writing = input;
    byId("t-insert-fallback").value = byId("t-insert-way").value = "";
    byId("t-insert").showModal();
    htmx.trigger("#t-insert-known", "known");
    show();
  }

  /** Title and body hold snippets; an address does not, and neither does a snippet. */
  function offer() {
    const holds = /[-_](title|body)$/.test(writing.id);
    for (const one of document.querySelectorAll("#t-insert label[data-snippet]")) one.hidden = !holds;
  }

  const chosen = () => document.querySelector("#t-insert [name=variable]:checked");

  function written() {
    // Liquid knows no way to write a quote inside quotes: take the other kind.
    if (chosen().dataset.snippet) return `{{ ${chosen().value} }}`;
    const fallback = byId("t-insert-fallback").value;
    const quote = fallback.includes("'") ? '"' : "'";
    const safe = quote === '"' ? fallback.replaceAll('"', "”") : fallback;
    const way = byId("t-insert-way").value;
    const steps = [chosen().value, way, fallback && `default: ${quote}${safe}${quote}`];
    return `{{ ${steps.filter(Boolean).join(" | ")} }}`;
  }

  function show() {
    const one = chosen();
    const { skipped, everyone, filled, snippet } = byId("t-insert-fate").dataset;
    for (const id of ["t-insert-way-of", "t-insert-else"]) byId(id).hidden = Boolean(one?.dataset.snippet);
    byId("t-insert-readers").hidden = !byId("t-insert-way").value;
    byId("t-insert-do").disabled = !one;
    byId("t-insert-shown").textContent = one ? written() : "";
    const fate = one?.dataset.percent === "100" ? everyone : skipped;
    const said = one?.dataset.snippet ? snippet : byId("t-insert-fallback").value ? filled : fate;
    byId("t-insert-fate").textContent = one ? said : "";
  }

  function put(text) {
    const { selectionStart, selectionEnd } = writing;
    writing.setRangeText(text, selectionStart, selectionEnd, "end");
    writing.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function openEmoji(input) {
    writing = input;
    byId("t-emoji").returnValue = "";
    byId("t-emoji").showModal();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const dialog = byId("t-insert");
    if (!dialog) return;
    dialog.addEventListener("input", show);
    dialog.addEventListener("keydown", (event) => {
      // Enter in the fallback means “Insert”, not the first button of the form.
      if (event.key !== "Enter" || event.target.matches("button")) return;
      event.preventDefault();
      if (chosen()) dialog.close("insert");
    });
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "insert" && chosen()) put(written());
      dialog.returnValue = "";
      writing?.focus();
    });
    byId("t-emoji").addEventListener("close", ({ target }) => {
      if (target.returnValue) put(target.returnValue);
      writing?.focus();
    });
    document.addEventListener("htmx:afterSettle", (event) => {
      if (event.detail.target?.id === "t-insert-known") {
        dialog.querySelector("[name=variable]")?.focus();
        offer();
        show();
      }
    });
    countAll();
  });
})();
