// What htmx and Alpine leave to us: focus inside dialogs, and a log-in that ended meanwhile.
"use strict";

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
  button.textContent = "Copied";
});
