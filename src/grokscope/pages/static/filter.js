// Claims by paper, verdict and text. A claim that a link leads to is shown, whatever the filter.
const form = document.querySelector("form.filters");
const claims = [...document.querySelectorAll("article.claim")].map(card => ({
  card, row: document.querySelector(`tr[data-claim="${CSS.escape(card.id)}"]`),
  words: `${card.textContent} ${card.closest(".experiment").querySelector("h3").textContent}`.toLowerCase(),
}));
const experiments = [...document.querySelectorAll("section.experiment")];

function apply() {
  const { paper, verdict, text } = Object.fromEntries(new FormData(form));
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  for (const { card, row, words } of claims) {
    const hit = (!paper || card.dataset.paper === paper) && (!verdict || card.dataset.verdict === verdict) && wanted.every(word => words.includes(word));
    card.hidden = !hit;
    row.hidden = !hit;
    hits += hit;
  }
  for (const one of experiments) {
    one.hidden = !one.querySelector("article.claim:not([hidden])");
    const link = document.querySelector(`.contents li[data-experiment="${CSS.escape(one.id)}"]`);
    if (link) link.hidden = one.hidden;
  }
  for (const one of document.querySelectorAll("section.paper")) one.hidden = !one.querySelector("section.experiment:not([hidden])");
  const all = claims.length;
  form.querySelector(".hits").textContent = hits === all ? `${all} claims` : `${hits} of ${all} claims`;
}

form.addEventListener("input", apply);
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("reset", () => setTimeout(apply));
for (const link of document.querySelectorAll("a[data-verdict]")) {
  link.addEventListener("click", () => {
    form.elements.paper.value = link.dataset.paper;
    form.elements.verdict.value = link.dataset.verdict;
    form.elements.text.value = "";
    apply();
  });
}
document.addEventListener("reveal", event => {
  if (!event.detail.closest("[hidden]")) return;
  form.reset();
  apply();
});
addEventListener("keydown", event => {
  if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  form.elements.text.focus();
});
apply();
