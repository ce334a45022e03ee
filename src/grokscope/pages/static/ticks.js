// Numbers and ticks of charts.
function short(value) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(1).replace("e-", "·10⁻").replace(/⁻(\d+)$/, (_, digits) => `⁻${[...digits].map(d => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]).join("")}`);
  return String(+value.toPrecision(3));
}

function logTicks(low, high, most) {
  if (!(low > 0) || !(high >= low) || !isFinite(high)) return [];
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / most));
  const steps = every > 1 || decades > most / 2 ? [1] : decades > most / 4 ? [1, 3] : decades > 0.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % every) continue;
    for (const step of steps) {
      const tick = +(step * 10 ** power).toPrecision(3);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

function faded(colour, share) {
  const [r, g, b] = [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${share})`;
}

globalThis.ticks = { short, logTicks, faded };
