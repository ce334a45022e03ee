"use strict";
// The attention map of the selected run: one strip per position, darker where more of the attention is.

const WIDTH = 1200;

class AttentionMap {
  constructor() {
    this.holder = document.getElementById("attention-map");
    this.readout = document.getElementById("attention-readout");
    this.figure = document.getElementById("attention");
  }

  update(attention, linear) {
    this.figure.hidden = !attention;
    if (!attention) return;
    const { epochs, mass, names, informative } = attention;
    const first = epochs[0], last = epochs[epochs.length - 1];
    const place = epoch => (last === first ? 1 : linear ? (epoch - first) / (last - first) : Math.log(epoch / first) / Math.log(last / first));
    const cells = names.flatMap((name, row) => {
      const label = document.createElement("span");
      label.textContent = name;
      if (informative.includes(row)) {
        const mark = document.createElement("span");
        mark.className = "informative";
        mark.textContent = "● ";
        label.prepend(mark);
      }
      const canvas = document.createElement("canvas");
      const final = mass[row].findLast(value => value !== null);
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${name}: ${percent(final)} at epoch ${count(last)}`);
      canvas.width = WIDTH;
      canvas.height = 1;
      const ctx = canvas.getContext("2d");
      mass[row].forEach((value, column) => {
        if (value === null) return;
        // a cell reaches from half-way to the epoch before to half-way to the next
        const left = column ? (place(epochs[column - 1]) + place(epochs[column])) / 2 : 0;
        const right = column < epochs.length - 1 ? (place(epochs[column + 1]) + place(epochs[column])) / 2 : 1;
        ctx.fillStyle = alpha(css("--accent"), Math.min(1, value));
        ctx.fillRect(Math.round(WIDTH * left), 0, Math.round(WIDTH * right) - Math.round(WIDTH * left), 1);
      });
      canvas.onmousemove = event => {
        const at = event.offsetX / canvas.clientWidth;
        let nearest = 0;
        epochs.forEach((epoch, column) => { if (Math.abs(place(epoch) - at) < Math.abs(place(epochs[nearest]) - at)) nearest = column; });
        this.readout.textContent = `epoch ${count(epochs[nearest])} · ${name}: ${percent(mass[row][nearest])}`;
      };
      canvas.onmouseleave = () => { this.readout.textContent = ""; };
      return [label, canvas];
    });
    const ticks = document.createElement("div");
    ticks.className = "ticks";
    const room = Math.max(3, this.holder.clientWidth / 60);
    for (const tick of linear ? [0, 0.25, 0.5, 0.75, 1].map(share => Math.round(first + share * (last - first))) : logTicks(first, last, room)) {
      const mark = document.createElement("span");
      const at = place(tick);
      if (at < 0.02 || at > 0.97) continue;
      mark.textContent = short(tick);
      mark.style.left = `${100 * at}%`;
      ticks.append(mark);
    }
    this.holder.replaceChildren(...cells, ticks);
  }
}
