
// Heads of tables become buttons that sort: within each group, highest first, the third press undoes it.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("th[data-sortable]")];
  const last = table.tHead.rows[table.tHead.rows.length - 1];
  const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows] }));
  const column = (head) => {
    if (head.parentElement === last) return head.cellIndex + (table.tHead.rows.length > 1 ? 1 : 0);
    return 0;
  };
  const value = (row, index) => {
    const cell = row.cells[index];
    if (cell.dataset.sort === undefined) return cell.textContent.trim();
    return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
  };
  for (const head of heads) {
    const text = head.dataset.sortable === "text";
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = text ? ["ascending", "descending"] : ["descending", "ascending"];
      const next = order[order.indexOf(head.getAttribute("aria-sort")) + 1];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (next) head.setAttribute("aria-sort", next);
      const index = column(head);
      for (const { body, rows } of bodies) {
        const fixed = rows.filter((row) => row.classList.contains("group"));
        const moving = rows.filter((row) => !row.classList.contains("group"));
        const sign = next === "ascending" ? 1 : -1;
        if (next) moving.sort((a, b) => compare(value(a, index), value(b, index), sign));
        body.append(...fixed, ...moving);
      }
    });
  }
}
