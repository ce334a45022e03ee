// Contents beside the text on a wide screen, folded on a narrow one; targets of links are never hidden; a command can be copied.
const contents = document.querySelector("details.contents");
if (contents) {
  const wide = matchMedia("(min-width: 76rem)");
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", event => { if (event.target.closest("a") && !wide.matches) contents.open = false; });
  const links = new Map([...contents.querySelectorAll("a")].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "location");
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  for (const id of links.keys()) if (document.getElementById(id)) seen.observe(document.getElementById(id));
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
