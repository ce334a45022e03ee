"use strict";
// The panels. Colour is the group of a run, a dash its second metric; a band lies between the 10th and the 90th percentile.

const about = JSON.parse(document.getElementById("about").textContent);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
// The palette is made for white paper: on a dark screen its dark colours are lightened.
const LIGHTER = { "#0072B2": "#4DB0EE", "#009E73": "#2FC79B", "#D55E00": "#FF8A3D", "#CC79A7": "#E39BC3", "#000000": "#F0F2F4" };
const shade = colour => (dark.matches && LIGHTER[colour.toUpperCase()]) || colour;

const percent = value => (value === null || value === undefined ? "–" : `${+(100 * value).toFixed(1)} %`);
const count = value => (value === null || value === undefined ? "–" : value.toLocaleString("en"));

class Chart {
  constructor(panel, pick) {
    this.panel = panel;
    this.pick = pick;
    this.figure = document.getElementById(`panel-${panel.name}`);
    this.holder = this.figure.querySelector(".chart");
    this.readout = this.figure.querySelector(".readout");
    this.shape = "";
    this.plot = null;
    new ResizeObserver(() => this.resize()).observe(this.holder);
  }

  update(curves, { linear, selected, spans }) {
    const series = curves.panels[this.panel.name];
    this.figure.classList.toggle("filled", series.length > 0);
    if (!series.length) {
      this.plot?.destroy();
      this.plot = null;
      return;
    }
    this.spans = spans;
    this.groups = curves.groups;
    const data = [curves.x], kinds = [];
    for (const own of series) {
      data.push(own.y);
      kinds.push({ ...own, y: null });
      if (own.low) {
        data.push(own.low, own.high);
        kinds.push({ ...own, edge: true }, { ...own, edge: true });
      }
    }
    const shape = JSON.stringify([linear, selected, dark.matches, curves.lines, curves.groups.map(g => [g.label, g.colour]),
      kinds.map(k => [k.group, k.dashed, k.run, !!k.edge])]);
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.kinds = kinds;
      const { left = -1, top = -1 } = this.plot?.cursor ?? {};
      this.plot?.destroy();
      this.plot = new uPlot(this.options(kinds, linear, selected), data, this.holder);
      if (left >= 0) this.plot.setCursor({ left, top }); // the pointer has not moved
    } else {
      this.plot.setData(data);
    }
  }

  size() {
    return { width: Math.max(this.holder.clientWidth, 50), height: Math.max(this.holder.clientHeight, 50) };
  }

  resize() {
    const { width, height } = this.size();
    if (this.plot && (this.plot.width !== width || this.plot.height !== height)) this.plot.setSize({ width, height });
  }

  options(kinds, linear, selected) {
    const dimmed = selected && kinds.some(kind => kind.run === selected);
    const bands = [];
    const series = kinds.map((kind, place) => {
      const colour = kind.group < 0 ? css("--ink") : shade(this.groups[kind.group].colour);
      const mine = kind.run && kind.run === selected;
      const faint = dimmed && !mine && kind.group >= 0;
      if (kind.edge) {
        if (!kinds[place - 1].edge) bands.push({ series: [place + 2, place + 1], fill: alpha(colour, faint ? 0.07 : 0.16) });
        return { stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
      }
      return {
        stroke: alpha(colour, faint ? 0.25 : kind.dashed ? 0.75 : 1),
        width: mine ? 2.4 : kind.dashed ? 1.1 : kind.run && kinds.length > 12 ? 1.3 : 1.8,
        dash: kind.dashed ? [5, 4] : undefined,
        points: { show: false },
        spanGaps: true,
      };
    });
    const tick = { stroke: () => css("--line"), width: 1, size: 4 };
    const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: tick, font: "12px system-ui, sans-serif" };
    const wide = value => value.map(v => (this.panel.percent ? `${Math.round(100 * v)} %` : short(v)));
    return {
      ...this.size(),
      padding: [8, this.labelled() ? this.labelWidth() : 12, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "epochs", setSeries: false }, drag: { x: false, y: false }, focus: { prox: 24 }, points: { size: 6 },
        bind: { click: (plot, target, handler) => event => { handler(event); this.clicked(); } } },
      focus: { alpha: 1 },
      scales: {
        x: { time: false, distr: linear ? 1 : 3, range: (plot, low, high) => (low === high ? [low * 0.9, high * 1.1 + 1] : [low, high]) },
        y: { distr: this.panel.log ? 3 : 1, range: (plot, low, high) => this.range(low, high) },
      },
      axes: [
        { ...axis, size: 26, gap: 3, label: "epoch", labelSize: 15, labelGap: 0, labelFont: axis.font, values: (plot, ticks) => ticks.map(short), ...(linear ? {} : {
          splits: (plot, index, low, high) => logTicks(low, high, plot.width / 70), filter: (plot, ticks) => ticks }) },
        { ...axis, size: 52, gap: 4, values: (plot, ticks) => wide(ticks), ...(this.panel.log ? {
          splits: (plot, index, low, high) => logTicks(low, high, plot.height / 28), filter: (plot, ticks) => ticks } : {}) },
      ],
      series: [{}, ...series],
      bands,
      hooks: {
        drawClear: [plot => this.drawSpans(plot)],
        draw: [plot => this.drawLabels(plot)],
        setSeries: [(plot, index) => { this.near = index; this.show(); }],
        setCursor: [() => this.show()],
      },
    };
  }

  range(low, high) {
    if (low === null || low === undefined) return this.panel.log ? [0.1, 1] : [0, 1];
    if (this.panel.percent) return [0, Math.max(1.03, high)];
    if (this.panel.log) return low === high ? [low / 2, high * 2] : [low * 0.8, high * 1.25];
    return [0, high * 1.06 || 1];
  }
}

function alpha(colour, share) {
  const hex = colour.replace("#", "");
  const whole = hex.length === 3 ? [...hex].map(c => c + c).join("") : hex;
  const [r, g, b] = [0, 2, 4].map(place => parseInt(whole.slice(place, place + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${share})`;
}
