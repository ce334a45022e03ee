// Contents beside the text on a wide screen, folded on a narrow one; targets of links are never hidden; a command can be copied.
const contents = document.querySelector("details.contents");
if (contents) {
  const wide = matchMedia("(min-width: 76rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", event => { if (event.target.closest("a") && !wide.matches) contents.open = false; });
  const links = new Map([...contents.querySelectorAll("a")].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  const TOP = 100; // a heading that a link leads to stops a little below the edge
  const targets = [...links.keys()].map(id => document.getElementById(id)).filter(Boolean);
  // where the reader is: the last heading that has reached the top of the window, and the last of all at the end of the page
  const mark = () => {
    const shown = targets.filter(one => one.getClientRects().length);
    const end = innerHeight + scrollY > document.documentElement.scrollHeight - 2;
    const here = links.get((end ? shown : shown.filter(one => one.getBoundingClientRect().top < TOP)).at(-1)?.id);
    for (const link of links.values()) if (link !== here) link.removeAttribute("aria-current");
    here?.setAttribute("aria-current", "location");
  };
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  document.dispatchEvent(new CustomEvent("reveal", { detail: target }));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("load", () => { if (location.hash) reveal(); });

const copy = document.getElementById("copy");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById("command").textContent);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });
}

// Everything is unfolded on paper.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("main details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
