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

// Asked of the target, which stays: the button may have been drawn anew since the click.
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (opener && detail.requestConfig.elt === opener) showDialog();
});

const shell = () => Alpine.$data(document.documentElement);

function showDialog() {
  shell().openModal = true;
}

function showInPlaceOfDialog(said) {
  const dialog = document.createElement("div");
  dialog.id = "dialog";
  dialog.setAttribute("role", "dialog");
  dialog.setAttribute("aria-modal", "true");
  dialog.setAttribute("aria-label", said.textContent);
  const close = document.createElement("button");
  close.type = "button";
  close.className = "c-button";
  close.textContent = words().close;
  close.addEventListener("click", () => (shell().openModal = false));
  const foot = document.createElement("div");
  foot.className = "c-dialog-foot";
  foot.append(close);
  dialog.append(said, foot);
  document.getElementById("modal-content").replaceChildren(dialog);
  showDialog();
}

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
  const shown = new MutationObserver(() => {
    if (opener && !inDialog(document.activeElement)) focusDialog();
  });
  shown.observe(document.getElementById("modal-content").parentElement, { attributeFilter: ["style"] });
});

// Where it settles before it is drawn, on a slow machine, nothing in it takes the focus yet.
function focusDialog() {
  const first = "[autofocus], input:not([type=hidden]), textarea, .c-dialog-foot button";
  document.querySelector(`#modal-content :is(${first})`)?.focus({ preventScroll: true });
}

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target?.id === "modal-content") focusDialog();
});

// What somebody opened stays open when that part of the page is drawn again.
let opened = [];
document.addEventListener("htmx:beforeSwap", () => {
  opened = [...document.querySelectorAll("details[open][id]")].map((one) => one.id);
});
document.addEventListener("htmx:afterSettle", () => {
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
});

// What was refused may stand behind the buttons of a long dialog.
document.addEventListener("htmx:afterSettle", () => {
  document.querySelector("#dialog-form [aria-invalid='true']")?.focus();
});

// What stands behind an open dialog is out of reach: Tab goes round inside.
const REACHED = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
const openDialog = () => {
  const dialog = document.getElementById("dialog");
  const open = document.getElementById("modal-overlay")?.style.display !== "none";
  return open && dialog?.checkVisibility() ? dialog : null;
};

document.addEventListener("keydown", (event) => {
  const dialog = event.key === "Tab" ? openDialog() : null;
  if (!dialog) return;
  const stops = [...dialog.querySelectorAll(REACHED)].filter((one) => !one.disabled && one.checkVisibility());
  const [first, last] = [stops[0], stops.at(-1)];
  const leaves = event.shiftKey ? first : last;
  if (document.activeElement !== leaves && dialog.contains(document.activeElement)) return;
  event.preventDefault();
  (event.shiftKey ? last : first)?.focus();
});

// Whatever else moves the focus, a script or a label behind it: it comes back.
document.addEventListener("focusin", (event) => {
  const dialog = openDialog();
  if (!dialog || dialog.contains(event.target) || event.target.closest("dialog")) return;
  dialog.querySelector(REACHED)?.focus({ preventScroll: true });
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const url = event.detail.xhr.responseURL;
  if (url && new URL(url).pathname.endsWith("/login/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});

// htmx swaps no refusal, and a panel that went on showing its last answer would be read as this one.
for (const failure of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(failure, ({ detail }) => {
    const panel = detail.target?.closest("[data-panel]");
    const asked = detail.elt.closest("#dialog")?.querySelector(".c-dialog-body");
    if (panel) panel.replaceChildren(warning(words().lost));
    else if (asked && !asked.querySelector(".c-failed")) asked.append(warning(words().failed));
    else if (opener && detail.elt === opener) showInPlaceOfDialog(warning(words().unopened));
  });
}

function warning(text) {
  const said = document.createElement("p");
  said.className = "c-failed c-notice c-notice-warning";
  said.setAttribute("role", "alert");
  said.textContent = text;
  return said;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
  button.textContent = words().copied;
});

// `write` keeps a form: a moment after the last key, or as the page is left before that. What it
// answers with drops what waits.
const whenTyped = (form, write) => {
  let waiting = 0;
  const drop = () => {
    clearTimeout(waiting);
    waiting = 0;
  };
  const now = () => {
    drop();
    write();
  };
  const typed = () => {
    drop();
    waiting = setTimeout(now, 300);
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, typed);
  addEventListener("pagehide", () => waiting && now());
  return drop;
};

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

// While all marketing is off, none of it is received: the ticks below it go, and come back with it.
document.addEventListener("change", ({ target }) => {
  if (!target.dataset?.allOf) return;
  for (const one of document.querySelectorAll(`[data-one-of="${target.dataset.allOf}"]`)) {
    if (!target.checked) one.toggleAttribute("data-kept", one.checked);
    one.checked = target.checked && one.hasAttribute("data-kept");
    one.disabled = !target.checked;
  }
});

// Who leaves for another project is not called back by an answer that was on its way to the page
// they leave: it would say that this page belongs to the project before, and open it again.
const LEAVING_MS = 10_000; // after that the form has failed, and the page goes on
let leftAt = -LEAVING_MS;

document.addEventListener("submit", (event) => {
  if (event.target.closest(".n-project")) leftAt = performance.now();
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (performance.now() - leftAt < LEAVING_MS) event.preventDefault();
});
window.addEventListener("pageshow", () => (leftAt = -LEAVING_MS)); // they came back
