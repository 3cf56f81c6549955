// What was typed and not saved survives a session that ended, a closed tab, a crash. It stays in
// this browser, and is offered, never put over what stands there: somebody may have saved since.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const offer = document.getElementById("draft");
  const form = document.getElementById(offer?.dataset.form);
  if (!form) return;

  const here = `carillon-draft:${offer.dataset.person}:${location.pathname}`; // not of the next at this desk
  const plain = (name) => !/^(_|csrfmiddlewaretoken$|seen$|preview_|variable$)/.test(name);
  const values = () => Object.fromEntries([...new FormData(form)].filter(([name]) => plain(name)));
  const differ = (one, other) => Object.keys(one).some((name) => one[name] !== other[name]);
  const forget = () => localStorage.removeItem(here);
  const mine = Number(offer.dataset.mine);
  const served = values();

  const kept = JSON.parse(localStorage.getItem(here) ?? "null");
  if (kept && "refused" in offer.dataset) forget(); // the form holds it already
  else if (kept && (!differ(kept.values, served) || arrived(kept))) forget();
  else if (kept) show(kept);

  /** It was sent: did the server get it, or did the session end on the way? */
  function arrived(draft) {
    if (!draft.sent) return false;
    if (offer.dataset.mine) return mine > draft.mine; // what I saved last has a number, and it grew
    const list = location.pathname.replace(/add\/$/, "");
    return new URL(document.referrer || location.href).pathname === list;
  }

  /** “22 Nov 2026, 04:54 Asia/Seoul”: as the page's other times are written, and in its zone. */
  function when(at) {
    const lang = document.documentElement.lang.replace(/^en$/, "en-GB");
    const style = { dateStyle: "medium", timeStyle: "short", timeZone: offer.dataset.zone };
    return `${new Date(at).toLocaleString(lang, style)} ${offer.dataset.zone}`;
  }

  function show({ values: written, at }) {
    offer.querySelector(".c-when").textContent = when(at);
    offer.hidden = false;
    document.getElementById("draft-bring").addEventListener("click", () => {
      for (const [name, value] of Object.entries(written)) bringBack(form.elements.namedItem(name), value);
      // The rules' blocks are drawn anew from their text.
      for (const tab of ["json", "blocks"]) form.querySelector(`[data-tab="${tab}"]`)?.click();
      offer.hidden = true;
      form.querySelector("input:not([type=hidden])").focus();
    });
    document.getElementById("draft-discard").addEventListener("click", () => {
      forget();
      offer.hidden = true;
    });
  }

  function bringBack(field, value) {
    if (!field || field.value === value) return;
    field.value = value; // of radio buttons: checks the one that has it
    const changed = field instanceof Element ? field : [...field].find((one) => one.checked);
    for (const kind of ["input", "change"]) changed?.dispatchEvent(new Event(kind, { bubbles: true }));
  }

  const keep = (sent) => {
    const draft = { values: values(), at: Date.now(), mine, sent };
    localStorage.setItem(here, JSON.stringify(draft));
  };
  const drop = whenTyped(form, () => (differ(values(), served) ? keep(false) : forget()));
  form.addEventListener("submit", () => {
    drop();
    keep(true);
  });
});
