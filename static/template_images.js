// Beside the image of a text: a dialog that uploads one, or takes one that is there. What is put into
// the field is its address, as if somebody had typed it.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const dialog = document.getElementById("t-images");
  if (!dialog) return;
  const file = dialog.querySelector("[type=file]");
  const said = document.getElementById("t-images-said");
  let writing = null;

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".t-image-button");
    if (!button) return;
    writing = document.getElementById(button.dataset.for);
    [file.value, said.textContent] = ["", ""];
    dialog.showModal();
    htmx.trigger("#t-images-known", "known");
  });

  function put(address) {
    writing.value = address;
    writing.dispatchEvent(new Event("input", { bubbles: true }));
    dialog.close();
  }

  dialog.addEventListener("click", (event) => {
    const one = event.target.closest("[data-address]");
    if (one) put(one.dataset.address);
  });
  dialog.addEventListener("close", () => writing?.focus());

  /** The project worked in, as the page's own forms name it. */
  function form(chosen) {
    const data = new FormData(dialog.querySelector("form"));
    const project = document.querySelector("[name=settled_project], [name=project]");
    if (project) data.set("settled_project", project.value);
    data.set("file", chosen);
    return data;
  }

  async function upload(chosen) {
    const { add, large, sending, failed } = dialog.dataset;
    const most = dialog.querySelector("[data-most]")?.dataset.most ?? Infinity; // the server judges anyway
    const inKilobytes = (size) => Math.ceil(size / 1000).toLocaleString(document.documentElement.lang);
    if (chosen.size > Number(most)) {
      said.textContent = large.replace("{size}", inKilobytes(chosen.size)).replace("{most}", inKilobytes(most));
      return;
    }
    said.textContent = sending;
    try {
      const reply = await fetch(add, { method: "POST", body: form(chosen), headers: { Accept: "application/json" } });
      const { address, error } = await reply.json();
      if (address) put(address);
      else said.textContent = error;
    } catch {
      said.textContent = failed;
    }
  }

  // On the way down: Unfold listens on every field for files, and breaks on one not of its own.
  dialog.addEventListener(
    "change",
    (event) => {
      if (event.target !== file) return;
      event.stopPropagation();
      if (file.files.length) upload(file.files[0]);
    },
    { capture: true },
  );
});
