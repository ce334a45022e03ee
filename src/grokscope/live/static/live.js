"use strict";
// The page: keeps what the reader has chosen, listens to the server, and hands each message to its parts.

const $ = id => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
const choice = { where: {}, status: "", text: "", by: "", run: "", linear: false };
const FEW = 6; // settings to filter by that are always visible
const charts = about.panels.map(panel => new Chart(panel, pick));
const table = new RunTable(pick);
const attention = new AttentionMap();
let source = null, curves = null, selected = null, lost = null, outcomes = {};

function address(path, own) {
  return `${path}?token=${encodeURIComponent(token)}&view=${encodeURIComponent(JSON.stringify(own))}`;
}

function listen() {
  clearTimeout(lost);
  source?.close();
  const { run, by, linear, ...filters } = choice;
  $("freeze").href = address("report", filters);
  source = new EventSource(address("events", choice));
  source.onopen = () => state("open", "live");
  source.onmessage = event => receive(JSON.parse(event.data));
  source.onerror = () => {
    state("lost", "no connection, trying again");
    // the browser tries again by itself unless it was refused
    if (source.readyState === EventSource.CLOSED) lost = setTimeout(listen, 1000);
  };
}

function state(name, text) {
  $("link").dataset.state = name;
  $("link").lastElementChild.textContent = text;
}

function receive(message) {
  state("open", "live");
  if (message.head) head(message.head);
  if (message.filters) filters(message.filters);
  if (message.order) table.update(message.rows, message.order);
  if ("selected" in message) {
    selected = message.selected;
    detail();
  }
  if (message.outcomes) outcomes = message.outcomes;
  if (message.curves) curves = message.curves;
  if (curves && (message.outcomes || message.curves)) groups();
  table.select(choice.run);
  if (curves && (message.curves || "selected" in message)) draw();
}

function draw() {
  const spans = selected && selected.id === choice.run ? selected.spans : [];
  for (const chart of charts) chart.update(curves, { linear: choice.linear, selected: choice.run, spans });
}

function head(now) {
  const { statuses, phases } = now;
  const grokked = phases.grokking || 0;
  const rest = ["stopped", "failed", "damaged"].filter(name => statuses[name]).map(name => `${statuses[name]} ${name}`).join(", ");
  $("tile-running").textContent = count(statuses.running || 0);
  $("tile-running-more").textContent = rest;
  $("tile-finished").textContent = count(statuses.finished || 0);
  $("tile-finished-more").textContent = now.runs === now.of ? `of ${count(now.of)} runs` : `of ${count(now.runs)} in view, ${count(now.of)} in all`;
  $("tile-grokked").textContent = count(grokked);
  $("tile-grokked-more").textContent = now.criterion;
  $("tile-speed").textContent = statuses.running && now.speed ? short(now.speed) : "–";
  $("tile-left").textContent = clock(now.left);
  const bar = $("phases");
  const names = [...Object.keys(about.phases)];
  names.splice(1, 0, "memorised");
  bar.hidden = !Object.keys(phases).length;
  bar.replaceChildren(...names.filter(name => phases[name]).map(name => {
    const part = document.createElement("div");
    part.style.flex = `${phases[name]} 1 0`;
    part.style.background = about.phases[name] || "#d5d8dc";
    part.textContent = part.title = `${name} ${count(phases[name])}`;
    return part;
  }));
  const notes = [now.problem, now.unread ? `reading ${count(now.unread)} more runs` : "", now.of || now.problem || now.unread ? "" : "no runs yet: they appear here once something is trained",
    now.of && !now.runs ? "no run has these settings" : "", now.runs > about.listed ? `the table lists ${about.listed} of ${count(now.runs)} runs; filters show the others` : ""];
  $("notice").textContent = notes.filter(Boolean).join(" · ");
  $("notice").hidden = !$("notice").textContent;
}

function filters(settings) {
  const options = (select, values, first) => {
    const kept = select.value;
    select.replaceChildren(...[["", first], ...values.map(value => [value, value])].map(([value, text]) => new Option(text, value)));
    select.value = values.includes(kept) ? kept : "";
  };
  const labels = Object.entries(settings).map(([name, values]) => {
    const label = document.createElement("label"), select = document.createElement("select");
    label.append(`${name} `, select);
    options(select, values, "any");
    select.dataset.setting = name;
    select.value = values.includes(choice.where[name]) ? choice.where[name] : "";
    return label;
  });
  const more = document.createElement("details"), summary = document.createElement("summary");
  summary.textContent = `${labels.length - FEW} more settings`;
  more.append(summary, ...labels.slice(FEW));
  more.open = !!$("filter-settings").querySelector("details")?.open;
  $("filter-settings").replaceChildren(...labels.slice(0, FEW), ...(labels.length > FEW ? [more] : []));
  options($("filter-by"), Object.keys(settings), "condition");
}

function groups() {
  const one = curves.groups.length === 1;
  $("groups").replaceChildren(...curves.groups.map(group => {
    const item = document.createElement("li"), mark = document.createElement("i"), text = document.createElement("b"), more = document.createElement("span");
    mark.style.background = shade(group.colour);
    text.textContent = group.name;
    const many = one && curves.conditions > 1 ? `${curves.conditions} conditions: choose a setting to colour by · ` : "";
    more.textContent = `${many}${outcomes[group.name] || ""}`;
    item.append(mark, text, more);
    return item;
  }));
  if (curves.lines) return;
  const note = document.createElement("li");
  note.append(Object.assign(document.createElement("span"), { textContent: "lines are medians; bands hold the runs from the 10th to the 90th percentile" }));
  $("groups").append(note);
}

function detail() {
  const section = $("selected");
  section.hidden = !choice.run;
  if (!choice.run || !selected) return;
  $("selected-title").textContent = selected.id;
  if (selected.gone) {
    $("selected-about").textContent = "this run was deleted";
    section.querySelector(".selected-body").hidden = true;
    return;
  }
  section.querySelector(".selected-body").hidden = false;
  $("selected-about").textContent = [selected.condition, selected.seed === null ? "" : `seed ${selected.seed}`, selected.status, selected.reason].filter(Boolean).join(" · ");
  $("selected-phases").replaceChildren(...selected.sentences.map(text => Object.assign(document.createElement("li"), { textContent: text })));
  $("selected-settings").replaceChildren(...selected.settings.map(([name, value]) => {
    const row = document.createElement("tr");
    for (const text of [name, value]) row.insertCell().textContent = text;
    return row;
  }));
  attention.update(selected.attention, choice.linear);
}

function pick(run) {
  choice.run = run === choice.run ? "" : run;
  if (!choice.run) selected = null;
  detail();
  table.select(choice.run);
  listen();
}

function chosen() {
  choice.text = $("filter-text").value.trim();
  choice.status = $("filter-status").value;
  choice.by = $("filter-by").value;
  choice.linear = $("filter-axis").value === "linear";
  choice.where = {};
  for (const select of $("filter-settings").querySelectorAll("select")) if (select.value) choice.where[select.dataset.setting] = select.value;
  listen();
}

let typing = null;
$("filters").addEventListener("input", event => {
  clearTimeout(typing);
  typing = setTimeout(chosen, event.target.id === "filter-text" ? 250 : 0);
});
$("filters").addEventListener("reset", () => setTimeout(chosen));
$("filters").addEventListener("submit", event => event.preventDefault());
$("selected-close").addEventListener("click", () => pick(choice.run));
document.addEventListener("keydown", event => {
  if (event.key === "Escape" && choice.run) pick(choice.run);
  if (event.key === "/" && !event.target.closest("input, select")) { event.preventDefault(); $("filter-text").focus(); }
});
dark.addEventListener("change", () => { if (curves) { groups(); draw(); } });
// a hidden tab needs no stream, and a browser allows only six of them
document.addEventListener("visibilitychange", () => { if (document.hidden) { source?.close(); state("waiting", "paused"); } else listen(); });
listen();
