// The search by keyboard: Ctrl or ⌘ with K opens it anywhere, arrows choose, Enter opens.
"use strict";

const dialog = () => document.getElementById("find");
const place = () => (dialog()?.open ? dialog() : document.querySelector("[data-find-page]"));

const open = () => {
  const asked = dialog();
  if (!asked || asked.open) return;
  asked.showModal();
  asked.querySelector("input").select();
  htmx.trigger(asked.querySelector("input"), "opened");
};

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-finds]") && !event.ctrlKey && !event.metaKey && dialog()) {
    event.preventDefault();
    open();
  } else if (event.target === dialog()) {
    dialog().close(); // beside it
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    if (!dialog()) return;
    event.preventDefault();
    open();
    return;
  }
  const here = place();
  if (!here?.contains(event.target)) return;
  const input = here.querySelector("input[type=search]");
  const stops = [input, ...here.querySelectorAll(".n-result")];
  const at = stops.indexOf(event.target);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && at >= 0) {
    event.preventDefault();
    stops[(at + step + stops.length) % stops.length].focus();
  } else if (event.key === "Enter" && event.target === input && here.dataset.answered === input.value && stops[1]) {
    event.preventDefault(); // what stands first is meant; before the answer came, the whole page is
    stops[1].click();
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target?.id !== "find-results") return;
  const here = event.detail.target.closest("#find, [data-find-page]");
  here.dataset.answered = event.detail.requestConfig.parameters.s ?? "";
});
