// Downloads: a picture as SVG, its data as CSV; and a larger view.
const announce = text => { document.getElementById("status").textContent = text; };

function save(name, kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  announce(`Saved ${name}`);
}

const quoted = cell => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const toCsv = rows => rows.map(row => row.map(cell => quoted(String(cell ?? ""))).join(",")).join("\r\n") + "\r\n";

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function button(text, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

// As large as the window allows with everything in it, axes and legend included; from there it grows by + and tells values under the pointer.
function enlarge(picture, title, figure) {
  const shown = picture.cloneNode(true);
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", title);
  const frame = document.createElement("div");
  frame.className = "picture";
  frame.tabIndex = 0;
  const [width, height] = ["width", "height"].map(side => parseFloat(shown.getAttribute(side)));
  let scale = 1;
  const fit = () => { shown.style.width = `${Math.floor(width * scale)}px`; };
  const whole = () => { scale = Math.min(frame.clientWidth / width, frame.clientHeight / height); fit(); };
  const zoom = factor => { scale = Math.min(12, Math.max(0.1, scale * factor)); fit(); };
  const bar = document.createElement("div");
  bar.className = "tools";
  bar.append(button("Close", "Close", () => dialog.close()), button("+", "Larger", () => zoom(1.4)),
    button("−", "Smaller", () => zoom(1 / 1.4)), button("Whole", "Show the whole picture", whole));
  shown.style.minWidth = "0";
  frame.append(shown);
  dialog.append(bar, frame);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("keydown", event => {
    if (event.key === "+") zoom(1.4);
    if (event.key === "-") zoom(1 / 1.4);
    if (event.key === "0") whole();
  });
  document.body.append(dialog);
  dialog.showModal();
  whole();
  pages.tell(figure, frame, dialog);
}

// Many pictures are packed: each is unpacked soon after the page has loaded and put in place when it comes near the window.
async function unpack(holder) {
  holder.text ??= unpacked(holder.dataset.picture).then(text => { holder.ready = text; });
  await holder.text;
}
function place(holder) {
  if (holder.ready === undefined || holder.querySelector("svg")) return;
  holder.innerHTML = holder.ready;
  holder.classList.remove("lazy");
}
async function drawn(figure) {
  const holder = figure.querySelector(".picture");
  if (holder.dataset.picture) {
    await unpack(holder);
    place(holder);
  }
  return holder.querySelector(":scope > svg, img");
}
const near = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    drawn(target.closest("figure"));
  }
}, { rootMargin: "800px" });
const packed = [...document.querySelectorAll(".picture[data-picture]")];
packed.forEach(holder => near.observe(holder));
addEventListener("load", async () => { for (const holder of packed) await unpack(holder); });
addEventListener("beforeprint", () => packed.forEach(place));

function numbersToCsv(series) {
  const columns = ["x", "y", "low", "high", "value"].filter(name => series.some(one => one[name]));
  const rows = [["panel", "x label", "y label", "series", ...columns]];
  for (const one of series) one.x.forEach((_, at) => rows.push([one.panel, one["x label"], one["y label"], one.series, ...columns.map(name => one[name]?.[at])]));
  return toCsv(rows);
}

// An animation is stopped on its last frame, and played from its first.
function playing(image, source, title) {
  if (!source) return [];
  const movie = image.src, still = source.srcset;
  let times = 0;
  const show = address => { source.remove(); image.src = address; };
  if (matchMedia(source.media).matches) show(still); // in the larger view, too
  return [button("Stop", `Stop ${title}`, () => show(still)),
    // another address each time: the same one would go on where it was
    button("Play", `Play ${title} from the beginning`, () => show(movie.replace(";", `;times=${times += 1};`)))];
}

for (const figure of document.querySelectorAll("figure.picture-of")) {
  const title = figure.querySelector("h3, h4").lastChild.textContent.trim();
  const name = figure.id.replace(/^picture-/, "").replace(/[^\w-]+/g, "-");
  const tools = figure.querySelector(".tools");
  const moving = figure.querySelector(".picture img");
  if (!figure.querySelector(".chart")) tools.append(button("Enlarge", `Enlarge ${title}`, async () => enlarge(await drawn(figure), title, figure)));
  if (moving) tools.append(...playing(moving, figure.querySelector(".picture source"), title));
  else {
    tools.append(button("SVG", `Download ${title} as SVG`, async () => {
      save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(await drawn(figure)));
    }));
  }
  if (figure.dataset.numbers) {
    tools.append(button("CSV", `Download the data of ${title} as CSV`, async () => {
      save(`${name}.csv`, "text/csv", numbersToCsv(JSON.parse(await unpacked(figure.dataset.numbers))));
    }));
  }
}

globalThis.pages = { announce, button, save, toCsv, unpacked, darkColours: DARK };
