"use strict";
// Sorts and filters the cases. All of them can be read without this script.
(() => {
  const table = document.querySelector(".cases"), body = table.tBodies[0];
  const rows = [...body.rows], count = document.getElementById("shown");
  const filter = document.querySelector(".filter");
  filter.hidden = false;
  const search = filter.querySelector("input");
  let chosen = "all";
  const show = (verdict) => {
    chosen = verdict;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const said = words.length ? row.textContent.toLowerCase() : "";
      row.hidden = verdict !== "all" && !row.classList.contains(verdict) || !words.every((word) => said.includes(word));
      if (!row.hidden) shown += 1;
    }
    for (const button of filter.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.verdict === verdict);
    count.textContent = `${shown.toLocaleString("en-US")} of ${rows.length.toLocaleString("en-US")} ${count.dataset.of} shown`;
  };
  for (const button of filter.querySelectorAll("button")) button.addEventListener("click", () => show(button.dataset.verdict));
  search.addEventListener("input", () => show(chosen));
  const key = (row, column) => (column === 1 ? Number(row.dataset.rank) : row.cells[column].textContent);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = (a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        const way = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
        return (up ? way : -way) || Number(a.dataset.place) - Number(b.dataset.place);
      };
      body.append(...[...rows].sort(order));
    });
  });
  show("all");
})();
