// The value of the nearest point of a still picture under the pointer. Each series knows where its panel is and what its axes span.
const REACH = 22;
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);

const share = (value, [low, high], log) => (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
const shown = value => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(4)));

function nearest(series, box, at) {
  let best = null;
  for (const one of series) {
    const [left, bottom, width, height] = one.box;
    const [x, y] = [(at.x / box.width - left) / width, (1 - at.y / box.height - bottom) / height];
    if (x < -0.02 || x > 1.02 || y < -0.05 || y > 1.05 || !one.x || !one.y) continue;
    for (let place = 0; place < one.x.length; place++) {
      if (typeof one.x[place] !== "number" || typeof one.y[place] !== "number") break;
      const away = Math.hypot(
        (share(one.x[place], one.limits.slice(0, 2), one.logs[0]) - x) * width * box.width,
        (share(one.y[place], one.limits.slice(2), one.logs[1]) - y) * height * box.height);
      if (away < (best?.away ?? REACH)) best = { away, one, place };
    }
  }
  return best;
}

// `root` is the page, or a dialog, which lies above it
function tell(figure, holder, root) {
  if (!figure.dataset.numbers) return;
  holder.addEventListener("pointermove", async event => {
    figure.numbers ??= pages.unpacked(figure.dataset.numbers).then(text => JSON.parse(text).filter(one => one.box));
    const series = await figure.numbers;
    const picture = holder.querySelector(":scope > svg");
    if (!picture) return;
    const box = picture.getBoundingClientRect();
    const best = nearest(series, box, { x: event.clientX - box.left, y: event.clientY - box.top });
    if (tip.parentNode !== root) root.append(tip);
    tip.hidden = !best;
    if (!best) return;
    const { one, place } = best;
    const name = /^(line|dots) \d+$/.test(one.series) ? "" : `${one.series}: `;
    tip.textContent = `${name}${shown(one.y[place])} at ${one["x label"] || "x"} ${shown(one.x[place])}`;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  holder.addEventListener("pointerleave", () => { tip.hidden = true; });
}
for (const figure of document.querySelectorAll("figure.picture-of")) tell(figure, figure.querySelector(".picture"), document.body);
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
pages.tell = tell;
