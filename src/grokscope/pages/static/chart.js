// Curves with the values under the pointer, zoom and a legend that switches arms. Colour and dashes are the arm's, thin dots the second metric, a
// band the middle half of the seeds. Colours are those of white paper; in the dark some are lightened.
const { short, logTicks, faded } = ticks;
const STRIP = 9;
const dark = matchMedia("(prefers-color-scheme: dark)");
function shade(colour) {
  if (!dark.matches) return colour;
  const [r, g, b] = [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));
  const lighter = () => `#${[r, g, b].map(part => Math.round(part + 0.45 * (255 - part)).toString(16).padStart(2, "0")).join("")}`;
  return pages.darkColours[colour.toLowerCase()] ?? (0.3 * r + 0.6 * g + 0.1 * b < 70 ? lighter() : colour);
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, name, ...inside) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...inside);
  return made;
}

function swatch(tag, colour) {
  const made = document.createElement(tag);
  made.style.background = shade(colour);
  return made;
}

function sample(arm) {
  const made = swatch("i", arm.colour);
  if (!arm.dashes.length) return made;
  let at = 0;
  const parts = arm.dashes.map((length, place) => `${place % 2 ? "transparent" : shade(arm.colour)} ${at}px ${(at += length)}px`);
  made.style.background = `repeating-linear-gradient(90deg, ${parts.join(", ")})`;
  return made;
}

class Charts {
  constructor(figure, data) {
    this.data = data;
    this.holder = figure.querySelector(".chart");
    this.group = figure.id;
    this.title = figure.querySelector("h3, h4").lastChild.textContent.trim();
    this.hidden = new Set();
    this.whole = [this.data.x[0], this.data.x.at(-1)];
    this.index = null;
    this.addLegend();
    this.plots = this.data.panels.map((panel, number) => this.addPanel(panel, number));
    this.readout = element("p", "readout");
    this.readout.setAttribute("aria-live", "off");
    this.holder.append(this.readout);
    this.addTools(figure);
    this.show(null);
    new ResizeObserver(() => this.resize()).observe(this.holder);
    dark.addEventListener("change", () => this.recolour());
  }

  recolour() {
    this.holder.querySelectorAll("ul.legend, .kinds").forEach(old => old.remove());
    this.addLegend();
    this.plots.forEach(({ plot }) => plot.redraw(false, true));
  }

  addLegend() {
    const list = element("ul", "legend");
    list.setAttribute("aria-label", "Arms; press to hide or show");
    for (const arm of this.data.arms) {
      const press = pages.button("", arm.name, () => this.toggle(arm.name, press));
      press.append(sample(arm), arm.name);
      press.setAttribute("aria-pressed", String(!this.hidden.has(arm.name)));
      list.append(element("li", "", press));
    }
    const kinds = element("p", "kinds");
    const named = this.data.panels.filter(panel => new Set(panel.lines.map(line => line.kind)).size > 1);
    for (const [kind, minor] of new Map(named.flatMap(panel => panel.lines).map(line => [line.kind, line.minor]))) kinds.append(element("span", "", element("i", minor ? "minor" : ""), kind));
    if (this.data.panels.some(p => p.lines.some(l => l.low))) kinds.append(element("span", "", element("i", "band"), "middle half of seeds, with the median"));
    for (const phase of this.data.phases) kinds.append(element("span", "", swatch("b", phase.colour), phase.name));
    this.holder.prepend(list, kinds);
  }

  addPanel(panel, number) {
    const place = element("div", number ? "plot lower" : "plot");
    this.holder.append(element("p", "label", panel.label), place);
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${this.title}: ${panel.label}. Arrow keys read values, plus and minus zoom, 0 shows everything.`);
    place.addEventListener("keydown", event => this.key(event));
    const data = [this.data.x], series = [{}], bands = [], owners = [null];
    for (const line of panel.lines) {
      data.push(line.y);
      owners.push(line.arm);
      series.push({ stroke: () => faded(shade(line.colour), line.minor ? 0.8 : 1), width: line.minor ? 1.2 : 1.9, dash: line.minor ? [1.5, 3] : line.dashes, points: { show: line.y.filter(value => value !== null).length === 1, size: 7, fill: shade(line.colour) }, spanGaps: true });
      if (!line.low || line.minor) continue;
      bands.push({ series: [series.length + 1, series.length], fill: () => faded(shade(line.colour), dark.matches ? 0.22 : 0.15) });
      for (const edge of [line.low, line.high]) {
        data.push(edge);
        owners.push(line.arm);
        series.push({ stroke: "transparent", width: 0, points: { show: false }, spanGaps: true });
      }
    }
    const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1, size: 4 }, font: "12px system-ui, sans-serif" };
    const strips = number ? [] : this.data.strips, last = number === this.data.panels.length - 1;
    const plot = new uPlot({
      width: Math.max(place.clientWidth, 120), height: Math.max(place.clientHeight, 80),
      padding: [6 + STRIP * strips.length + (strips.length ? 4 : 0), 14, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: this.group, setSeries: false, scales: ["x", null] }, drag: { x: true, y: false, setScale: true }, points: { size: 6 }, y: false },
      scales: {
        x: { time: false, distr: 3, range: (_, low, high) => [low, high] },
        y: { distr: panel.log ? 3 : 1, range: (_, low, high) => this.range(panel, low, high) },
      },
      axes: [
        { ...axis, size: last ? 26 : 24, gap: 3, ...(last ? { label: "epoch" } : {}), labelSize: 16, labelGap: 0, labelFont: axis.font, values: (_, at) => at.map(short),
          splits: (own, __, low, high) => logTicks(low, high, own.width / 70), filter: (_, at) => at },
        { ...axis, size: 54, gap: 4, values: (_, at) => at.map(v => (panel.percent ? `${Math.round(100 * v)} %` : short(v))),
          ...(panel.log ? { splits: (own, __, low, high) => logTicks(low, high, own.height / 30), filter: (_, at) => at } : {}) },
      ],
      series, bands,
      hooks: {
        setCursor: [own => { if (own.cursor.event || own.cursor.idx !== null) this.show(own.cursor.idx); else this.show(null); }],
        setScale: [(own, scale) => { if (scale === "x") this.follow(own); }],
        draw: [own => this.drawStrips(own, strips)],
      },
    }, data, place);
    return { plot, panel, place, owners };
  }

  range(panel, low, high) {
    if (low === null || low === undefined) return panel.log ? [0.1, 1] : [0, 1];
    if (panel.percent || panel.fraction) return [0, Math.max(1.03, high)];
    if (panel.log) return low === high ? [low / 2, high * 2] : [low * 0.8, high * 1.25];
    return [Math.min(0, low * 1.06), high * 1.06 || 1];
  }

  drawStrips(plot, strips) {
    const { ctx } = plot, scale = devicePixelRatio;
    const { left, top, width } = plot.bbox;
    strips.forEach((strip, row) => {
      if (this.hidden.has(strip.arm)) return;
      const y = top - (strips.length - row) * STRIP * scale - 2 * scale;
      ctx.fillStyle = shade(strip.colour);
      ctx.fillRect(left - 7 * scale, y, 4 * scale, (STRIP - 2) * scale);
      for (const [phase, start, end] of strip.phases) {
        const [from, to] = [start, end].map(epoch => plot.valToPos(Math.max(epoch, this.data.x[0]), "x", true));
        const [a, b] = [Math.max(from, left), Math.min(to, left + width)];
        if (b <= a) continue;
        ctx.fillStyle = shade(this.data.phases.find(one => one.name === phase).colour);
        ctx.fillRect(a, y, b - a, (STRIP - 2) * scale);
      }
    });
  }

  follow(source) {
    const { min, max } = source.scales.x;
    if (min === undefined || min === null) return;
    for (const { plot } of this.plots ?? []) {
      if (plot !== source && (plot.scales.x.min !== min || plot.scales.x.max !== max)) plot.setScale("x", { min, max });
    }
    const zoomed = min > this.whole[0] * 1.0001 || max < this.whole[1] * 0.9999;
    if (this.reset) this.reset.hidden = !zoomed;
  }

  zoom(low, high) {
    const [first, last] = this.whole;
    const inside = [Math.max(low, first), Math.min(high, last)];
    if (inside[1] / inside[0] > 1.02) this.plots[0].plot.setScale("x", { min: inside[0], max: inside[1] });
  }

  key(event) {
    const { min, max } = this.plots[0].plot.scales.x;
    const { x } = this.data;
    const step = event.shiftKey ? 10 : 1;
    const at = this.index ?? x.findIndex(epoch => epoch >= min);
    const centre = x[at] >= min && x[at] <= max ? x[at] : Math.sqrt(min * max);
    const near = factor => this.zoom(centre * (min / centre) ** factor, centre * (max / centre) ** factor);
    const acts = {
      ArrowRight: () => this.point(Math.min(at + step, x.length - 1)),
      ArrowLeft: () => this.point(Math.max(at - step, 0)),
      Home: () => this.point(0), End: () => this.point(x.length - 1),
      "+": () => near(0.5), "=": () => near(0.5), "-": () => near(2), 0: () => this.zoom(...this.whole), Escape: () => this.zoom(...this.whole),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.readout.setAttribute("aria-live", "polite");
    acts[event.key]();
  }

  point(index) {
    for (const { plot } of this.plots) {
      plot.setCursor({ left: plot.valToPos(this.data.x[index], "x"), top: plot.over.clientHeight / 2 }, false);
    }
    this.show(index);
  }

  show(index) {
    this.index = index;
    if (index === null || index === undefined) {
      const touch = matchMedia("(pointer: coarse)").matches;
      const hint = touch ? "Touch a curve to read its values; drag to zoom, tap twice to see everything." : "Point at a curve to read its values; drag to zoom, double-click to see everything.";
      this.readout.replaceChildren(element("span", "hint", hint));
      this.readout.firstChild.style.whiteSpace = "normal";
      return;
    }
    const words = [element("span", "", `epoch ${this.data.x[index].toLocaleString("en")}`)];
    for (const arm of this.data.arms) {
      if (this.hidden.has(arm.name)) continue;
      const values = this.data.panels.flatMap(panel => panel.lines.filter(line => line.arm === arm.name && line.y[index] !== null).map(line => {
        const text = panel.percent ? `${+(100 * line.y[index]).toFixed(1)} %` : short(line.y[index]);
        return `${line.kind || panel.label}${line.seed === undefined ? "" : ` (seed ${line.seed})`} ${text}`;
      }));
      if (values.length) words.push(element("span", "", sample(arm), `${arm.name}: ${values.join(", ")}`));
    }
    this.readout.replaceChildren(...words.map(word => { if (word.textContent.length > 40) word.style.whiteSpace = "normal"; return word; }));
  }

  toggle(name, press) {
    const off = !this.hidden.delete(name) && !!this.hidden.add(name);
    press.setAttribute("aria-pressed", String(!off));
    for (const { plot, owners } of this.plots) {
      owners.forEach((owner, number) => { if (owner === name) plot.setSeries(number, { show: !off }); });
    }
    pages.announce(`${name} ${off ? "hidden" : "shown"}`);
  }

  addTools(figure) {
    const tools = figure.querySelector(".tools");
    this.reset = pages.button("Show all epochs", `Show all epochs of ${this.title}`, () => this.zoom(...this.whole));
    this.reset.hidden = true;
    tools.prepend(this.reset);
    if (figure.dataset.numbers) return; // those of the still picture can be saved already
    tools.append(pages.button("CSV", `Download the data of ${this.title} as CSV`, () => {
      const lines = this.data.panels.flatMap(panel => panel.lines.map(line => ({ ...line, panel: panel.label })));
      const rows = [["panel", "arm", "curve", "seed", "epoch", "value", "lower quartile", "upper quartile"]];
      for (const line of lines) {
        line.y.forEach((y, at) => { if (y !== null) rows.push([line.panel, line.arm, line.kind, line.seed, this.data.x[at], y, line.low?.[at], line.high?.[at]]); });
      }
      pages.save(`${figure.id.replace(/^picture-/, "")}.csv`, "text/csv", pages.toCsv(rows));
    }));
  }

  resize() {
    for (const { plot, place } of this.plots) {
      const size = { width: Math.max(place.clientWidth, 120), height: Math.max(place.clientHeight, 80) };
      if (plot.width !== size.width || plot.height !== size.height) plot.setSize(size);
    }
  }
}

for (const figure of document.querySelectorAll("figure:has(.chart-data)")) new Charts(figure, JSON.parse(figure.querySelector(".chart-data").textContent));

// On a page with many pictures the still one is there first, and its curves come to life when they are asked for.
for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const title = figure.querySelector("h3, h4").lastChild.textContent.trim();
  const [still, caption] = [figure.querySelector(".picture"), figure.querySelector("figcaption")];
  const press = pages.button("Interactive", `Interactive curves of ${title}`, async () => {
    let holder = figure.querySelector(".chart");
    if (!holder) {
      const data = JSON.parse(await pages.unpacked(figure.dataset.chart));
      holder = element("div", "chart");
      holder.setAttribute("role", "group");
      holder.setAttribute("aria-label", `${title}, interactive`);
      still.before(holder);
      new Charts(figure, data);
      holder.append(element("p", "label", "A line is the median of the seeds of its arm; two runs or fewer are drawn as they are."));
      holder.hidden = true;
    }
    holder.hidden = !holder.hidden;
    still.hidden = caption.hidden = !holder.hidden; // the caption is about the still picture
    press.setAttribute("aria-pressed", String(still.hidden));
  });
  press.setAttribute("aria-pressed", "false");
  figure.querySelector(".tools").prepend(press);
}
