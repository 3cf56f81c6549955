// The calendar: drag a run to another day.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("calendar");
  if (!page) return;

  let dragged = null;
  page.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".cal-entry[draggable]");
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", ""); // without it Firefox drags nothing
    dragged.classList.add("cal-dragged");
  });
  page.addEventListener("dragend", () => {
    dragged?.classList.remove("cal-dragged");
    mark(page, null);
    dragged = null;
  });
  page.addEventListener("dragover", (event) => {
    const day = dragged && event.target.closest?.("td[data-day]");
    mark(page, day);
    if (day) event.preventDefault(); // may be dropped here
  });
  page.addEventListener("drop", (event) => {
    const day = event.target.closest?.("td[data-day]");
    if (!dragged || !day || day.contains(dragged)) return;
    event.preventDefault();
    openTheDialog(dragged, day.dataset.day);
  });
});

// The same dialog as a click on “Move” opens, with the day filled in.
function openTheDialog(entry, day) {
  const asked = entry.querySelector("input[name=day]");
  asked.value = day;
  entry.querySelector(".cal-move").click();
  asked.value = "";
}

function mark(page, day) {
  for (const cell of page.querySelectorAll(".cal-over")) cell.classList.toggle("cal-over", cell === day);
  day?.classList.add("cal-over");
}
