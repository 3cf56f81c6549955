// What htmx, Alpine and Unfold leave to us: focus inside dialogs and after them, a log-in that ended
// meanwhile, names for what is drawn as an icon only.
"use strict";

htmx.config.allowEval = false; // nothing on a page becomes code; the header would refuse it anyway

// A page that nobody sees asks for nothing by itself; whoever comes back is shown what is now.
document.addEventListener("htmx:beforeRequest", (event) => {
  const itself = "[hx-trigger*='every '], [hx-trigger*=visibilitychange]";
  if (document.hidden && event.detail.elt.matches(itself)) event.preventDefault();
});

let opener = null; // of the dialog: it gets the focus back
const inDialog = (element) => element.closest("#modal-content") !== null;

document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (detail.target?.id === "modal-content" && !inDialog(detail.elt)) opener = detail.elt;
});

function giveFocusBack(overlay) {
  if (overlay.style.display !== "none" || !opener) return;
  const now = document.activeElement;
  // Whoever closed it with a click on a field wants to be there.
  if (now === document.body || inDialog(now)) {
    // The live page draws its buttons anew.
    (opener.isConnected ? opener : document.getElementById(opener.id))?.focus({ preventScroll: true });
  }
  opener = null;
}

document.addEventListener("DOMContentLoaded", () => {
  const overlay = document.getElementById("modal-overlay");
  if (!overlay) return;
  const watch = new MutationObserver(() => giveFocusBack(overlay));
  watch.observe(overlay, { attributeFilter: ["style"] });
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id !== "modal-content") return;
  const first = "[autofocus], input:not([type=hidden]), textarea, .c-dialog-foot button";
  document.querySelector(`#modal-content :is(${first})`)?.focus({ preventScroll: true });
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const url = event.detail.xhr.responseURL;
  if (url && new URL(url).pathname.endsWith("/login/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
  button.textContent = words().copied;
});

// In the page's language; pages without a log-in have none of this.
const words = () => document.getElementById("c-words")?.dataset ?? {};
const NAMES = { dock_to_right: "navigation", close: "close", more_horiz: "more", notifications: "home" };

document.addEventListener("DOMContentLoaded", () => {
  const search = document.getElementById("searchbar");
  search?.setAttribute("aria-label", `${words().search}: ${search.placeholder}`);
  document.getElementById("searchbar-submit")?.setAttribute("aria-label", words().search);

  for (const cell of document.querySelectorAll("#result_list [data-label]")) {
    // “Used by”, not “used by”: the first letter of generated text is out of a stylesheet's reach.
    cell.dataset.label = cell.dataset.label.replace(/^./u, (letter) => letter.toUpperCase());
  }

  for (const icon of document.querySelectorAll(".material-symbols-outlined")) {
    const word = icon.textContent.trim();
    const clickable = icon.hasAttribute("x-on:click") ? icon : icon.closest("a, button");
    const named = clickable?.textContent.trim() !== word || clickable?.ariaLabel || clickable?.title;
    if (clickable !== icon && named) icon.setAttribute("aria-hidden", "true"); // no word to read out
    if (!clickable || !NAMES[word] || clickable.textContent.trim() !== word) continue;
    clickable.setAttribute("aria-label", words()[NAMES[word]] ?? word);
    if (clickable !== icon) continue;
    icon.setAttribute("role", "button");
    icon.tabIndex = 0;
    icon.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") icon.click();
    });
  }
});
