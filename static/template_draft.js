// What was typed and not saved survives a session that ended, a closed tab, a crash. It stays in
// this browser, and is offered, never put over what stands there: somebody may have saved since.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const offer = document.getElementById("t-draft");
  const form = document.getElementById("template_form");
  if (!offer || !form) return;

  const here = `carillon-template:${location.pathname}`;
  const plain = (name) => !/^(_|csrfmiddlewaretoken$|seen$|preview_|variable$)/.test(name);
  const values = () => Object.fromEntries([...new FormData(form)].filter(([name]) => plain(name)));
  const differ = (one, other) => Object.keys(one).some((name) => one[name] !== other[name]);
  const forget = () => localStorage.removeItem(here);
  const served = values();

  const kept = JSON.parse(localStorage.getItem(here) ?? "null");
  if (kept && "refused" in offer.dataset) forget(); // the form holds it already
  else if (kept && (!differ(kept.values, served) || arrived(kept))) forget();
  else if (kept) show(kept);

  /** It was sent: did the server get it, or did the session end on the way? */
  function arrived({ sent, seen }) {
    if (!sent) return false;
    if (offer.dataset.mine) return Number(offer.dataset.mine) > seen;
    return new URL(document.referrer || location.href).pathname.includes("/campaigns/template/");
  }

  function show({ values: written, at }) {
    const when = new Date(at).toLocaleString(document.documentElement.lang);
    offer.querySelector(".t-when").textContent = when;
    offer.hidden = false;
    offer.querySelector(".t-bring").addEventListener("click", () => {
      for (const [name, value] of Object.entries(written)) {
        const field = form.elements.namedItem(name);
        if (!field || field.value === value) continue;
        field.value = value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
      offer.hidden = true;
      form.querySelector("input:not([type=hidden])").focus();
    });
    offer.querySelector(".t-discard").addEventListener("click", () => {
      forget();
      offer.hidden = true;
    });
  }

  const keep = (sent) => {
    const seen = Number(form.elements.namedItem("seen")?.value ?? 0);
    const draft = { values: values(), at: Date.now(), seen, sent };
    localStorage.setItem(here, JSON.stringify(draft));
  };
  let waiting;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => (differ(values(), served) ? keep(false) : forget()), 300);
  });
  form.addEventListener("submit", () => {
    clearTimeout(waiting);
    keep(true);
  });
});
