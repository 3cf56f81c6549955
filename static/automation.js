// Conditions: one empty line is there; the button shows the next.
"use strict";

for (const conditions of document.querySelectorAll("[data-conditions]")) {
  const more = conditions.querySelector("[data-add]");
  const next = () => conditions.querySelector(".m-condition[hidden]");
  more.hidden = !next();
  more.addEventListener("click", () => {
    const line = next();
    line.hidden = false;
    line.querySelector("input").focus();
    more.hidden = !next();
  });
}
