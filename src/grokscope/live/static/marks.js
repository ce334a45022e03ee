"use strict";
// What is written and shaded on a panel: labels at the ends of lines, the phases of the selected run, the value at the cursor.

Object.assign(Chart.prototype, {
  labelled() {
    return this.groups.length > 1 && this.groups.length <= 7 && this.holder.clientWidth > 420;
  },

  labelWidth() {
    return Math.min(150, 14 + 6.4 * Math.max(...this.groups.map(group => group.label.length)));
  },

  drawSpans(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.globalAlpha = dark.matches ? 0.16 : 0.5;
    for (const [name, start, end] of this.spans || []) {
      const left = Math.max(plot.valToPos(Math.max(start, plot.scales.x.min), "x", true), bbox.left);
      const right = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
      ctx.fillStyle = about.phases[name];
      if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.restore();
  },

  // One label per group, at the last value of its main line (of its middle run), moved apart where they would overlap.
  drawLabels(plot) {
    if (!this.labelled()) return;
    const { ctx, bbox } = plot, ratio = devicePixelRatio, height = 14 * ratio;
    const ends = this.groups.map((group, number) => {
      const found = [];
      this.kinds.forEach((kind, place) => {
        if (kind.group !== number || kind.dashed || kind.edge) return;
        const values = plot.data[place + 1];
        let last = values.length - 1;
        while (last >= 0 && values[last] === null) last--;
        if (last >= 0) found.push(plot.valToPos(values[last], "y", true));
      });
      found.sort((a, b) => a - b);
      return { group, at: found[Math.floor(found.length / 2)] };
    }).filter(end => end.at !== undefined).sort((a, b) => a.at - b.at);
    ends.forEach((end, place) => { if (place) end.at = Math.max(end.at, ends[place - 1].at + height); });
    let floor = bbox.top + bbox.height;
    for (const end of [...ends].reverse()) { end.at = Math.min(end.at, floor); floor = end.at - height; }
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const { group, at } of ends) {
      ctx.fillStyle = shade(group.colour);
      const room = (plot.width - 6) * ratio - bbox.left - bbox.width;
      let text = group.label;
      while (text.length > 2 && ctx.measureText(text).width > room - 6 * ratio) text = `${text.slice(0, -2)}…`;
      ctx.fillText(text, bbox.left + bbox.width + 6 * ratio, at);
    }
    ctx.restore();
  },

  show() {
    const plot = this.plot, index = plot?.cursor.idx;
    if (index === null || index === undefined || plot.cursor.left < 0) { this.readout.textContent = ""; return; }
    const place = this.near, kind = place ? this.kinds[place - 1] : null;
    let text = `epoch ${count(plot.data[0][index])}`;
    if (kind && !kind.edge) {
      const value = plot.data[place][index];
      const name = kind.run || (kind.group < 0 ? "" : `${this.groups[kind.group].label}, median`);
      const metric = this.panel.metrics[kind.dashed ? 1 : 0];
      if (value !== null) text += ` · ${name}${this.panel.metrics.length > 1 ? `, ${metric}` : ""}: ${this.panel.percent ? percent(value) : short(value)}`;
    }
    this.readout.textContent = text;
  },

  clicked() {
    const kind = this.near ? this.kinds[this.near - 1] : null;
    if (kind?.run) this.pick(kind.run);
  },
});
