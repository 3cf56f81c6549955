// What people read, by Slack or e-mail, is little: the kinds that come by the thousand, and batches,
// are for webhooks, and are put away when another way is chosen.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const ways = [...document.querySelectorAll("input[name=via]")];
  const kinds = [...document.querySelectorAll("input[name=kinds]")];
  const batched = document.querySelector("input[name=batched]");

  const show = (box, row, shown) => {
    box.disabled = row.hidden = !shown;
  };
  const draw = () => {
    const webhook = ways.find((way) => way.checked)?.value === "webhook";
    for (const kind of kinds) {
      show(kind, kind.closest("label").parentElement, webhook || kind.dataset.forPeople.split(" ").includes(kind.value));
    }
    show(batched, batched.closest(".field-batched"), webhook);
  };

  if (!ways.length) return; // an endpoint that is there keeps its way
  for (const way of ways) way.addEventListener("change", draw);
  draw();
});
