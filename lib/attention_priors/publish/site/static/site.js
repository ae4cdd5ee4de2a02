/* Tables that sort and filter, buttons that copy, and lines that open when a link leads into them. */
(function () {
  "use strict";

  function key(cell) {
    const text = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number.parseFloat(text.replace(/^[>≥~]/, "").replaceAll(",", ""));
    return Number.isNaN(number) ? text.toLowerCase() : number;
  }

  function compare(a, b) {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1; // numbers before words
  }

  function sorting(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row.cells[column]), row]);
        rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  function filtering(box, table) {
    const names = (box.dataset.filters || "").split("|").filter(Boolean);
    if (!box.classList.contains("searched")) return;
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const form = document.createElement("form");
    form.className = "filters";
    form.setAttribute("role", "search");
    const said = document.createElement("output");

    function field(name, control) {
      const label = document.createElement("label");
      label.append(name, control);
      form.append(label);
      return control;
    }
    const words = field("contains", document.createElement("input"));
    words.type = "search";
    const chosen = names.map((name) => {
      const column = heads.indexOf(name);
      const select = field(name, document.createElement("select"));
      const values = [...new Set(rows.map((row) => row.cells[column].textContent.trim()))].filter(Boolean).sort();
      select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
      return [column, select];
    });
    form.append(said);

    function apply() {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      rows.forEach((row, index) => {
        const fits =
          wanted.every((word) => texts[index].includes(word)) &&
          chosen.every(([column, select]) => !select.value || row.cells[column].textContent.trim() === select.value);
        row.hidden = !fits;
        count += fits;
      });
      said.value = `${count} of ${rows.length}`;
    }
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    box.prepend(form);
    apply();
  }

  document.querySelectorAll(".sortable").forEach((box) => {
    const table = box.querySelector("table");
    filtering(box, table);
    sorting(table);
  });

  document.querySelectorAll("button.copy").forEach((button) => {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      const label = button.textContent;
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        // Without permission, as on some local pages: select the text and copy that.
        getSelection().selectAllChildren(code);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = label), 1500);
    });
  });

  function open() {
    let target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (; target; target = target.parentElement) if (target.tagName === "DETAILS") target.open = true;
  }
  addEventListener("hashchange", open);
  open();
})();
