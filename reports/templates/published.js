// Words in the box leave only the entries that have them all, wherever they are folded. Without scripts everything is there.
"use strict";
(() => {
  const box = document.createElement("input");
  const count = document.createElement("output");
  const label = document.createElement("p");
  const place = document.querySelector("[data-find-box]");
  box.type = "search";
  box.id = "find";
  box.placeholder = place.dataset.findBox;
  box.setAttribute("aria-label", "Show only what has all of these words");
  label.className = "find";
  label.append(box, count);
  place.replaceWith(label);

  const plain = (element) => element.textContent.toLowerCase().replace(/\s+/g, " ");
  const own = (entry) => {
    const copy = entry.cloneNode(true);
    for (const inner of copy.querySelectorAll(".entry")) inner.remove();
    return plain(copy);
  };
  const entries = [...document.querySelectorAll(".entry")]
    .filter((entry) => !entry.parentElement.closest(".entry"))
    .map((entry) => ({
      element: entry,
      text: own(entry),
      inner: [...entry.querySelectorAll(".entry")].map((one) => ({ element: one, text: plain(one) })),
      fold: entry.querySelector("details.more"),
    }));
  const folds = [...document.querySelectorAll("details.chapter, details.older")];
  const sections = [...document.querySelectorAll("main > section")];
  const shown = (part) => entries.filter(({ element }) => part.contains(element) && !element.hidden);

  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = ({ text }) => words.every((word) => text.includes(word));
    for (const entry of entries) {
      const whole = has(entry);
      for (const one of entry.inner) one.element.hidden = !whole && !has(one);
      entry.element.hidden = !whole && entry.inner.every((one) => one.element.hidden);
      if (entry.fold) entry.fold.open = !whole && !entry.element.hidden;
    }
    for (const fold of folds) {
      const found = shown(fold).length > 0;
      fold.hidden = !found;
      fold.open = words.length > 0 && found;
    }
    for (const section of sections) section.hidden = shown(section).length === 0;
    count.textContent = words.length ? `${shown(document).length} of ${entries.length}` : "";
  });
})();
