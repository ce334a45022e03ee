// Tables sort by a click on a heading and can be saved. Numbers sort as numbers; what has no number comes last.
function keyOf(cell) {
  const text = (cell.dataset.key ?? cell.textContent).trim();
  const number = parseFloat(text.replace(/^p\s*[=<]\s*/, "").replaceAll(",", ""));
  return { text: text.toLowerCase(), number: /^[-+.\d]/.test(text.replace(/^p\s*[=<]\s*/, "")) ? number : NaN };
}

function compare(a, b, direction, numeric) {
  if (numeric) {
    if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
    return direction * (a.number - b.number);
  }
  return direction * a.text.localeCompare(b.text, "en", { numeric: true });
}

function sort(table, column, heading) {
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].map(row => ({ row, key: keyOf(row.cells[column]) }));
  const numbers = rows.filter(({ key }) => !Number.isNaN(key.number)).length;
  const numeric = numbers > 0 && rows.every(({ key }) => !Number.isNaN(key.number) || !/\d/.test(key.text));
  rows.sort((a, b) => compare(a.key, b.key, direction, numeric));
  body.append(...rows.map(({ row }) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  pages.announce(`Sorted by ${heading.textContent.trim()}, ${direction > 0 ? "ascending" : "descending"}`);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...heading.childNodes);
    heading.append(made);
    made.addEventListener("click", () => sort(table, column, heading));
  });
  const region = table.closest(".scroll");
  const name = region.getAttribute("aria-label");
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(pages.button("CSV", `Download the table ${name} as CSV`, () => {
    const rows = [...table.rows].filter(row => !row.hidden).map(row => [...row.cells].map(cell => cell.textContent.trim()));
    pages.save(`${name.toLowerCase().replace(/\W+/g, "-")}.csv`, "text/csv", pages.toCsv(rows));
  }));
  region.after(tools);
}
