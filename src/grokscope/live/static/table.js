"use strict";
// The table of runs: only rows that changed are written. One row is in the tab order; arrow keys move between rows.

function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, Math.round(seconds)), two = number => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const PER_FRAME = 60; // rows that are written between two frames: hundreds at once would be felt

class RunTable {
  constructor(pick) {
    this.body = document.getElementById("rows");
    this.pick = pick;
    this.rows = new Map();
    this.pending = new Map();
    this.order = "";
    this.body.addEventListener("click", event => {
      const row = event.target.closest("tr");
      if (row) this.pick(row.dataset.run);
    });
    this.body.addEventListener("keydown", event => this.move(event));
  }

  update(changed, order) {
    for (const [id, values] of Object.entries(changed)) this.pending.set(id, values);
    if (this.order !== JSON.stringify(order)) {
      this.order = JSON.stringify(order);
      this.arrange(order);
    }
    if (!this.writing) this.writeSome();
  }

  writeSome() {
    let left = PER_FRAME;
    for (const [id, values] of this.pending) {
      if (!left--) break;
      this.pending.delete(id);
      if (this.rows.has(id)) this.write(this.rows.get(id), values);
    }
    this.writing = this.pending.size ? requestAnimationFrame(() => this.writeSome()) : 0;
  }

  arrange(order) {
    const wanted = new Set(order);
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      row.remove();
      this.rows.delete(id);
    }
    const focused = document.activeElement;
    let next = this.body.firstElementChild;
    for (const id of order) {
      if (!this.rows.has(id)) this.rows.set(id, this.create(id));
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
    const part = className => Object.assign(document.createElement("span"), { className });
    row.cells[3].append(part("status"));
    row.cells[4].append(part(""), part("of"));
    row.cells[7].append(part("phase"));
    for (const column of [1, 2, 5, 8, 9, 10, 11]) row.cells[column].classList.add("wide");
    for (const column of [2, 4, 5, 6, 8, 9, 10, 11]) row.cells[column].classList.add("number");
    return row;
  }

  write(row, own) {
    const texts = [null, own.condition, own.seed, own.status, count(own.epoch), percent(own.train), percent(own.test), own.phase, count(own.t_mem),
      count(own.t_grok), short(own.speed), clock(own.left)];
    const [epoch, status, phase] = [row.cells[4], row.cells[3].firstChild, row.cells[7].firstChild];
    const places = { 3: status, 4: epoch.firstChild, 7: phase };
    texts.forEach((text, column) => {
      const place = places[column] || row.cells[column], shown = text === null || text === undefined ? "" : String(text);
      if (column && place.textContent !== shown) place.textContent = shown;
    });
    const of = own.epochs ? ` / ${count(own.epochs)}` : "";
    if (epoch.lastChild.textContent !== of) epoch.lastChild.textContent = of;
    status.className = `status ${own.status}`;
    phase.style.background = own.phase ? about.phases[own.phase] || "var(--line)" : "";
    row.title = own.problem || "";
  }

  select(id) {
    if (id === this.selected) return;
    this.rows.get(this.selected)?.setAttribute("aria-selected", "false");
    this.selected = id;
    this.tabStop();
  }

  tabStop() {
    const wanted = this.rows.get(this.selected) || this.body.firstElementChild;
    this.rows.get(this.selected)?.setAttribute("aria-selected", "true");
    if (wanted === this.stop) return;
    if (this.stop) this.stop.querySelector("button").tabIndex = -1;
    this.stop = wanted;
    if (wanted) wanted.querySelector("button").tabIndex = 0;
  }

  move(event) {
    const row = event.target.closest("tr");
    const steps = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling, Home: this.body.firstElementChild, End: this.body.lastElementChild };
    if (!(event.key in steps)) return;
    event.preventDefault();
    steps[event.key]?.querySelector("button").focus();
  }
}
