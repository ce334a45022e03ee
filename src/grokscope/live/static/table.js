"use strict";
// The table of runs: only rows that changed are written. One row is in the tab order; arrow keys move between rows.

function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, Math.round(seconds)), two = number => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

class RunTable {
  constructor(pick) {
    this.body = document.getElementById("rows");
    this.note = document.getElementById("runs-note");
    this.pick = pick;
    this.rows = new Map();
    this.body.addEventListener("click", event => {
      const row = event.target.closest("tr");
      if (row) this.pick(row.dataset.run);
    });
    this.body.addEventListener("keydown", event => this.move(event));
  }

  update(changed, order) {
    for (const [id, values] of Object.entries(changed)) {
      if (!this.rows.has(id)) this.rows.set(id, this.create(id));
      this.write(this.rows.get(id), values);
    }
    const wanted = new Set(order);
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    const focused = document.activeElement;
    let next = this.body.firstElementChild;
    for (const id of order) {
      const row = this.rows.get(id);
      if (row === next) next = next.nextElementSibling;
      else this.body.insertBefore(row, next);
    }
    if (this.body.contains(focused) && document.activeElement !== focused) focused.focus();
    this.tabStop();
  }

  create(id) {
    const row = document.createElement("tr");
    row.dataset.run = id;
    for (let column = 0; column < 12; column++) row.append(document.createElement("td"));
    const button = document.createElement("button");
    button.type = "button";
    button.tabIndex = -1;
    button.textContent = id;
    button.title = id;
    row.cells[0].append(button);
    for (const column of [1, 2, 5, 8, 9, 10, 11]) row.cells[column].classList.add("wide");
    for (const column of [2, 4, 5, 6, 8, 9, 10, 11]) row.cells[column].classList.add("number");
    return row;
  }

  write(row, own) {
    const texts = [null, own.condition, own.seed, null, count(own.epoch), percent(own.train),
      percent(own.test), null, count(own.t_mem), count(own.t_grok), short(own.speed), clock(own.left)];
    texts.forEach((text, column) => {
      const shown = text === null || text === undefined ? "" : String(text);
      if (text !== null && (column === 4 || row.cells[column].textContent !== shown)) row.cells[column].textContent = shown;
    });
    const status = document.createElement("span");
    status.className = `status ${own.status}`;
    status.textContent = own.status;
    row.cells[3].replaceChildren(status);
    row.title = own.problem || "";
    if (own.epochs) row.cells[4].append(Object.assign(document.createElement("span"), { className: "of", textContent: ` / ${count(own.epochs)}` }));
    const phase = document.createElement("span");
    phase.className = "phase";
    phase.textContent = own.phase;
    phase.style.background = about.phases[own.phase] || "var(--line)";
    row.cells[7].replaceChildren(...(own.phase ? [phase] : []));
  }

  select(id) {
    this.selected = id;
    for (const [own, row] of this.rows) row.setAttribute("aria-selected", String(own === id));
    this.tabStop();
  }

  tabStop() {
    const wanted = this.rows.get(this.selected) || this.body.firstElementChild;
    for (const row of this.rows.values()) row.querySelector("button").tabIndex = row === wanted ? 0 : -1;
  }

  move(event) {
    const row = event.target.closest("tr");
    const steps = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling, Home: this.body.firstElementChild, End: this.body.lastElementChild };
    if (!(event.key in steps)) return;
    event.preventDefault();
    steps[event.key]?.querySelector("button").focus();
  }
}
