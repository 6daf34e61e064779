"use strict";
// The page can be read without this: it only sorts, leaves out rows, and changes colours.

const make = (name, properties, ...inside) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...inside);
  return element;
};

const keyOf = cell => cell.dataset.order === undefined ? cell.textContent.trim() : Number(cell.dataset.order);

const compare = (one, other) => {
  if (typeof one === "number" && typeof other === "number") return one - other;
  // What has no number comes last.
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one.localeCompare(other, "en", {numeric: true});
};

const makeSortable = table => {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", {type: "button"}, ...head.childNodes);
    button.addEventListener("click", () => {
      const order = head.ariaSort === "ascending" ? "descending" : "ascending";
      heads.forEach(one => one.removeAttribute("aria-sort"));
      head.ariaSort = order;
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map(row => [keyOf(row.cells[column]), row]);
      rows.sort(([one], [other]) => one === "" || other === "" ? (one === "") - (other === "") : sign * compare(one, other));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
    head.append(button);
  });
};

const makeFiltered = table => {
  const rows = [...table.tBodies[0].rows];
  const search = make("input", {type: "search", autocomplete: "off"});
  const count = make("output");
  const controls = make("div", {className: "controls"}, make("label", {}, "Search", search));
  const choices = [];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.dataset.chosen === undefined) return;
    const words = [...new Set(rows.map(row => row.cells[column].textContent.trim()))];
    const select = make("select", {}, new Option("all", ""), ...words.map(word => new Option(word)));
    choices.push([select, column]);
    controls.append(make("label", {}, head.textContent.trim(), select));
  });
  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(wanted.every(word => text.includes(word)) &&
        choices.every(([select, column]) => !select.value || row.cells[column].textContent.trim() === select.value));
      shown += !row.hidden;
    }
    count.value = `${shown} of ${rows.length} rows`;
  };
  const clear = make("button", {type: "button"}, "Show all");
  clear.addEventListener("click", () => {
    search.value = "";
    choices.forEach(([select]) => { select.value = ""; });
    show();
  });
  controls.addEventListener("input", show);
  controls.append(clear, count);
  table.closest(".wide").before(controls);
  show();
  return show;
};

const themes = ["system", "light", "dark"];
const theme = make("button", {type: "button", className: "theme"});
const setTheme = name => {
  document.documentElement.dataset.theme = name;
  theme.textContent = `Colours: ${name}`;
};
theme.addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  setTheme(next);
  try { localStorage.setItem("hcasim-theme", next); } catch { /* It is forgotten where nothing may be kept. */ }
});
let kept = "system";
try { kept = localStorage.getItem("hcasim-theme") ?? kept; } catch { /* As above. */ }
setTheme(themes.includes(kept) ? kept : "system");
document.querySelector("main").prepend(theme);

// Before they are sortable: its titles are read.
document.querySelectorAll("table.filtered").forEach(makeFiltered);
document.querySelectorAll("table").forEach(makeSortable);

// A link into what is folded, or to a row that is left out, shows it.
const reveal = () => {
  const there = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (there === null) return;
  for (let one = there; one !== null; one = one.parentElement) {
    if (one.tagName === "DETAILS") one.open = true;
    if (one.tagName === "TR" && one.hidden) {
      one.closest(".wide").previousElementSibling.querySelector("button").click();
    }
  }
  there.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

const opened = [];
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach(one => { one.open = true; opened.push(one); });
});
addEventListener("afterprint", () => opened.splice(0).forEach(one => { one.open = false; }));
