// What was typed and not saved survives a session that ended, a closed tab, a crash: it is kept in
// this browser until the server has it. Errors and hints are tied to their fields.
"use strict";

(() => {
  const form = document.querySelector("form[data-draft]");
  if (!form) return;

  for (const field of form.querySelectorAll(".c-field :is(input, select, textarea)")) {
    const ids = [`${field.id}_error`, `${field.id}_helptext`].filter((id) => document.getElementById(id));
    if (ids.length) field.setAttribute("aria-describedby", ids.join(" "));
    if (document.getElementById(`${field.id}_error`)) field.setAttribute("aria-invalid", "true");
  }
  if ("refused" in form.dataset) form.querySelector(".c-step:not([hidden]) [aria-invalid]")?.focus();

  const KEPT = `carillon-draft:${form.dataset.draft}:`; // of this person, not of the next at this desk
  const here = KEPT + location.pathname;
  const adding = KEPT + location.pathname.replace(/\d+\/change\/$/, "add/");
  // `seen` goes along: if a colleague saved meanwhile, the server sets both beside each other.
  const plain = (name) => !name.startsWith("_") && name !== "csrfmiddlewaretoken" && name !== "settled_project";
  const values = () => Object.fromEntries([...new FormData(form)].filter(([name]) => plain(name)));
  const forget = () => [here, adding].forEach((key) => localStorage.removeItem(key));
  const differ = (one, other) => Object.keys(one).some((name) => name !== "seen" && one[name] !== other[name]);

  const LAUNCHING = "carillon-launching"; // somebody who had not saved yet
  const asServed = values();
  if ("saved" in form.dataset) {
    forget();
    const address = new URL(location.href);
    address.searchParams.delete("saved"); // said once: a reload of this page saved nothing
    history.replaceState(null, "", address);
    document.getElementById("saved-first").hidden = !sessionStorage.getItem(LAUNCHING);
  } else if (!("refused" in form.dataset)) bringBack(localStorage.getItem(here));
  sessionStorage.removeItem(LAUNCHING);

  function bringBack(text) {
    if (!text) return;
    const kept = JSON.parse(text);
    if (!differ(kept, asServed)) return forget();
    for (const [name, value] of Object.entries(kept)) {
      const field = form.elements.namedItem(name);
      if (!field) continue;
      field.value = value; // a RadioNodeList checks the one that has it
      if (!(field instanceof Element)) continue;
      for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    // The rules' blocks are drawn anew from their text.
    for (const tab of ["json", "blocks"]) form.querySelector(`[data-tab="${tab}"]`)?.click();
    document.getElementById("kept").hidden = false;
  }

  const saved = document.getElementById("saved");
  const drop = whenTyped(form, () => {
    if (differ(values(), asServed)) localStorage.setItem(here, JSON.stringify(values()));
  });
  const unsaid = () => saved.replaceChildren(); // it is true no longer
  for (const kind of ["input", "change"]) form.addEventListener(kind, unsaid);
  form.addEventListener("submit", () => localStorage.setItem(here, JSON.stringify(values())));
  // A launch sends what is saved: what is not goes the way of the Review tab first.
  const saveFirst = (event) => {
    if (!event.target.closest?.("[hx-get*='/launch/']") || !differ(values(), asServed)) return;
    event.preventDefault();
    event.stopPropagation();
    sessionStorage.setItem(LAUNCHING, "yes");
    form.requestSubmit(form.querySelector("button[name=_go][value=review]:not([tabindex])"));
  };
  document.addEventListener("click", saveFirst, { capture: true });
  document.getElementById("kept-discard")?.addEventListener("click", () => {
    drop();
    forget();
    location.reload();
  });
})();

// The page of the template that is chosen now, saved or not.
document.addEventListener("DOMContentLoaded", () => {
  const choice = document.getElementById("id_template");
  const said = document.getElementById("template-page");
  if (!choice || !said) return;

  const link = said.querySelector("a");
  const nameless = said.hidden ? choice.value : ""; // a text that was only begun here has no page yet
  const follow = () => {
    const chosen = choice.selectedOptions[0];
    said.hidden = !choice.value || choice.value === nameless;
    link.textContent = chosen?.textContent.trim() ?? "";
    link.href = link.dataset.page.replace("/0/", `/${choice.value}/`);
  };
  choice.addEventListener("change", follow);
  follow();
});
