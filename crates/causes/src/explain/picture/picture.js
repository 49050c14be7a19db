"use strict";
(() => {
  const frames = [...document.querySelectorAll(".frame")];
  const slider = document.getElementById("slider");
  if (frames.length < 2) return;
  const range = slider.querySelector("input");
  const output = slider.querySelector("output");
  range.max = frames.length - 1;
  slider.hidden = false;
  const skipped = document.querySelectorAll(".frame ~ .skipped, .skipped:has(~ .frame)");
  const show = (at, all) => {
    frames.forEach((frame, i) => { frame.hidden = !all && i !== at; });
    skipped.forEach((line) => { line.hidden = !all; });
    range.value = at;
    const parts = frames[at].hasAttribute("data-parts") ? ", here they diverge" : "";
    output.textContent = all ? `all ${frames.length}` : `${frames[at].dataset.name}${parts}`;
  };
  const move = (by) => show(Math.min(frames.length - 1, Math.max(0, Number(range.value) + by)), false);
  range.addEventListener("input", () => move(0));
  slider.addEventListener("click", (event) => {
    const step = event.target.dataset && event.target.dataset.step;
    if (step === "all") show(Number(range.value), true);
    else if (step) move(Number(step));
  });
  const parted = frames.findIndex((frame) => frame.hasAttribute("data-parts"));
  show(Math.max(0, parted), false);
})();
