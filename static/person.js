// A person's attributes: more empty rows, and a way to remove one at once. Without this script two
// rows stand empty, and an emptied value removes its row when the form is saved.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const rows of document.querySelectorAll("[data-attributes]")) {
    const all = () => [...rows.querySelectorAll(".p-attribute")];
    const add = rows.querySelector("[data-add]");
    const empty = all().at(-1).cloneNode(true);

    const show = (row) => (row.querySelector(".p-attribute-remove").hidden = false);
    all().forEach(show);
    add.hidden = false;

    add.addEventListener("click", () => {
      const row = empty.cloneNode(true);
      show(row);
      all().at(-1).after(row);
      row.querySelector("input").focus();
    });
    rows.addEventListener("click", (event) => {
      const row = event.target.closest(".p-attribute-remove")?.closest(".p-attribute");
      if (!row) return;
      const value = row.querySelector("[name$='-value']");
      value.value = "";
      value.dispatchEvent(new Event("input", { bubbles: true })); // the form has unsaved changes now
      row.hidden = true;
      const next = all().find((one) => !one.hidden && row.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
      (next?.querySelector("input:not([type=hidden]), select, textarea") ?? add).focus();
    });
  }
});
