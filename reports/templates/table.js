// Tables of cases: a click on a head sorts, words in the box leave only the rows that have them all: a setting, with its
// "=", as a whole word, others also as parts of words. Without scripts everything is there, in the scenario's order.
"use strict";
(() => {
  const headsOf = (table) => [...table.tHead.rows[table.tHead.rows.length - 1].cells];

  // Name every cell by its heads: a narrow screen shows a table as a list of rows (screen.css).
  const nameCells = (grids) => {
    for (const grid of grids) {
      const above = grid.tHead.rows.length > 1 ? [...grid.tHead.rows[0].cells] : [];
      const groups = above.flatMap((cell) => Array(cell.colSpan).fill(cell.textContent));
      const names = headsOf(grid).map((head, place) => [groups[place], head.textContent].filter(Boolean).join(", "));
      for (const row of [...grid.tBodies].flatMap((body) => [...body.rows])) {
        if (row.classList.contains("heading")) continue;
        [...row.cells].forEach((cell, place) => (cell.dataset.head = names[place] ?? ""));
      }
      grid.classList.add("labelled");
    }
  };

  const tables = [...document.querySelectorAll("table.finds")];
  nameCells([...document.querySelectorAll("table.grid")]);
  if (!tables.length) return;

  const key = (row, place) => {
    const text = (row.cells[place]?.dataset.sort ?? row.cells[place]?.textContent ?? "").trim();
    const number = Number(text.replaceAll(",", "").replace(/[%×]$/, ""));
    return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  };

  for (const table of tables) {
    const heads = headsOf(table);
    const asWritten = [...table.tBodies].map((body) => [body, [...body.rows]]);
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
        for (const other of heads) other.ariaSort = "none";
        head.ariaSort = next;
        for (const [body, own] of asWritten) body.append(...own);
        if (next !== "none") {
          const rows = asWritten.flatMap(([, own]) => own);
          const sign = next === "ascending" ? 1 : -1;
          rows.sort((one, other) => {
            const [a, b] = [key(one, place), key(other, place)];
            return a === null || b === null ? compare(a, b) : sign * compare(a, b);
          });
          table.tBodies[0].append(...rows);
        }
        table.classList.toggle("sorted", next !== "none");
      });
    });
  }

  const box = document.createElement("input");
  const said = document.createElement("output");
  box.type = "search";
  box.id = "find";
  const place = document.querySelector("[data-find-box]");
  box.placeholder = place.dataset.findBox;
  box.setAttribute("aria-label", "Show only what has all of these words");
  const has = (row, word) => {
    const find = row.dataset.find.toLowerCase();
    return word.includes("=") ? find.split(/\s+/).includes(word) : find.includes(word);
  };
  const rows = tables.flatMap((table) => [...table.querySelectorAll("tbody tr[data-find]")]);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => has(row, word));
    for (const table of tables) table.classList.toggle("filtered", words.length > 0);
    for (const entry of document.querySelectorAll(".entry")) {
      entry.hidden = ![...entry.querySelectorAll("tr[data-find]")].some((row) => !row.hidden);
    }
    const cases = (those) => new Set(those.map((row) => row.dataset.find)).size; // each has a row in several tables
    said.textContent = words.length ? `${cases(rows.filter((row) => !row.hidden))} of ${cases(rows)}` : "";
  });
  const label = document.createElement("p");
  label.className = "find";
  label.append(box, said);
  place.before(label);
})();
