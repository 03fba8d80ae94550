
// Table heads become buttons that sort within each group, highest number first; the third click restores the order.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("th[data-sortable]")];
  const last = table.tHead.rows[table.tHead.rows.length - 1];
  const bodies = [...table.tBodies].map((body) => ({ body, rows: [...body.rows] }));
  const column = (head) => {
    if (head.parentElement === last) return head.cellIndex + (table.tHead.rows.length > 1 ? 1 : 0);
    return 0;
  };
  // Cells without data-sort may also hold a number: "+0.12", "\u22121.5", "12 345*".
  const value = (row, index) => {
    const cell = row.cells[index];
    if (cell.dataset.sort === "") return null;
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    if (text === "" || text === "\u2013") return null;
    const plain = text.replace(/[\u202f\s,+*]/g, "").replace("\u2212", "-");
    return plain === "" || Number.isNaN(Number(plain)) ? text : Number(plain);
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a !== typeof b) return typeof a === "number" ? -sign : sign;
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
// The target of a link may be collapsed: open it and everything around it.
const unfold = (address) => {
  for (let node = document.getElementById(decodeURIComponent(address.slice(1))); node; node = node.parentElement)
    if (node.tagName === "DETAILS") node.open = true;
};
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) unfold(link.hash);
});
if (location.hash) {
  unfold(location.hash);
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}
addEventListener("hashchange", () => unfold(location.hash));
