"use strict";
// Shows what /api/stream sends after every second. Everything is set as text, never as markup, but for the picture, which the server draws.

let held = false;
const open = new Set();

function part(id) {
  return document.getElementById(id);
}

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

function row(cells, first = "th") {
  const made = make("tr");
  cells.forEach((text, at) => {
    const cell = make(at ? "td" : first, text);
    if (!at && first === "th") cell.scope = "row";
    made.append(cell);
  });
  return made;
}

function flows(title, list) {
  const box = make("div");
  box.append(make("h4", title));
  const lines = make("ul");
  for (const flow of list.slice(0, 8)) lines.append(make("li", `${flow.share}  ${flow.flow}`));
  if (!list.length) lines.append(make("li", "none seen"));
  box.append(lines);
  return box;
}

function findingItem(finding, state) {
  const item = make("li", undefined, finding.role);
  item.append(make("h3", `${finding.role === "root" ? "▲ " : ""}${finding.trouble.toUpperCase()} ${finding.place}: ${finding.cause.replace("-", " ")}`));
  const facts = [`since ${finding.since}, ${finding.lasted}${state.over ? "" : " so far"}`, `confidence ${finding.confidence.toFixed(2)}`];
  if (finding.depth) facts.push(`depth up to ${finding.depth}`);
  if (finding.latency) facts.push(`latency up to ${finding.latency}`);
  if (finding.holds_up) facts.push(`holds up ${finding.holds_up}`);
  item.append(make("p", facts.join(" · "), "facts"));
  const more = make("details");
  more.open = open.has(finding.id);
  more.addEventListener("toggle", () => (more.open ? open.add(finding.id) : open.delete(finding.id)));
  more.append(make("summary", `Evidence (its times count from ${finding.evidence_from}), culprits, victims`));
  const evidence = make("ul");
  for (const sentence of finding.evidence) evidence.append(make("li", sentence));
  const both = make("div", undefined, "flows");
  both.append(flows("Culprits: who fills the queue", finding.culprits), flows("Victims: who waits", finding.victims));
  more.append(evidence, both);
  item.append(more);
  return item;
}

function showFindings(state) {
  const headline = part("headline");
  const roots = state.findings.filter((finding) => finding.role === "root");
  const first = roots[0] || state.findings[0];
  const found = first ? `${first.trouble.toUpperCase()} ${first.place}${state.findings.length > 1 ? ` and ${state.findings.length - 1} more` : ""}` : "";
  // where nothing comes, that nothing was found says nothing; how long already stands below, not in what is spoken
  const silence = state.silence && `${state.silence[0].toUpperCase()}${state.silence.slice(1)}`;
  const text = found || (silence ? silence.split(" for ")[0] : "No congestion");
  // a screen reader speaks when the text changes, not every second
  if (headline.textContent !== text) headline.textContent = text;
  headline.className = first ? "root" : silence ? "silent" : "";
  part("findings-title").textContent = state.over ? "Findings that lasted when the replay ended" : "Findings that last";
  part("silence").textContent = silence && `${silence}.`;
  document.title = `${first ? "▲ " : ""}${text} · int-analyzer`;
  const items = state.findings.map((finding) => findingItem(finding, state));
  if (state.further_findings) items.push(make("li", `and ${state.further_findings} more (/api/findings)`));
  if (!items.length && !silence) items.push(make("li", `Nothing ${state.over ? "was congested in the end" : "is congested"}. What was, stands below under “What happened”.`, "none"));
  part("finding-list").replaceChildren(...items);
}

function shade(share) {
  // from light to dark: the order is seen without colours too
  const light = [255, 247, 236], dark = [127, 0, 0];
  const power = Math.sqrt(share);
  return `rgb(${light.map((from, at) => Math.round(from + (dark[at] - from) * power)).join(",")})`;
}

function showHeat(heat) {
  part("heat-note").textContent = heat.ports.length ? `${heat.measure}; darkest: ${heat.most}; newest at the right; hatched: no packet` : "no port was seen in the last minute";
  const table = make("table");
  for (const port of heat.ports) {
    const line = make("tr");
    const name = make("th", port.label);
    name.scope = "row";
    line.append(name);
    port.values.forEach((value, at) => {
      const cell = make("td");
      if (value === null) cell.className = "empty";
      else cell.style.backgroundColor = shade(heat.most ? value / heat.most : 0);
      cell.title = `${port.label}, ${new Date((heat.first + at) * 1000).toISOString().slice(11, 19)}: ${value === null ? "no packet" : value}`;
      line.append(cell);
    });
    table.append(line);
  }
  const heatMap = part("heat");
  const atEnd = heatMap.scrollLeft + heatMap.clientWidth >= heatMap.scrollWidth - 4;
  const before = heatMap.scrollLeft;
  heatMap.replaceChildren(table);
  // whoever has scrolled back stays there, else the newest second is in sight
  heatMap.scrollLeft = atEnd ? heatMap.scrollWidth : before;
}

function showTrust(state) {
  const trust = state.trust;
  part("trust-grade").textContent = trust ? `Trust: ${trust.trust}` : "–";
  const reasons = trust ? [...trust.trust_reasons, ...trust.assumptions] : [];
  part("trust-reasons").replaceChildren(...reasons.map((text) => make("li", text)));
  part("sources").replaceChildren(...state.sources.map((source) => {
    const line = row([source.name, source.packets, source.late, source.kernel, source.own, source.time]);
    if (source.lost || source.fault) line.firstChild.className = "bad";
    if (source.fault) line.firstChild.textContent += `: ${source.fault}`;
    return line;
  }));
  part("clocks").replaceChildren(...state.sources.map((source) => make("li", `${source.name}: times are of the ${source.clock}`)));
}

function show(state) {
  part("clock").textContent = `${state.clock} UTC` + (state.over ? " (the replay is over)" : "");
  part("rates").textContent = `${state.rates.packets} packets/s · ${state.rates.bits} · ${state.total_packets} packets in all`;
  showFindings(state);
  if (state.graph) part("graph").innerHTML = state.graph;
  else part("graph").textContent = "no port was seen";
  showHeat(state.heat);
  part("queues").replaceChildren(...state.queues.map((queue) => row([queue.place, queue.packets, ...queue.latency, ...queue.depth])));
  showTrust(state);
  part("roce").replaceChildren(...state.roce.flatMap(([label, text]) => [make("dt", label), make("dd", text)]));
  const lines = state.events.map((event) => make("li", `${event.at} ${event.event} ${event.place}: ${event.cause.replace("-", " ")}${event.reason ? ` (${event.reason})` : ""}`));
  part("events").replaceChildren(...(lines.length ? lines : [make("li", "nothing yet")]));
}

function hold() {
  held = !held;
  part("hold").setAttribute("aria-pressed", String(held));
  part("hold").textContent = held ? "Go on" : "Hold";
}

part("hold").addEventListener("click", hold);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = { f: "findings", g: "graph", h: "heat" }[event.key];
  if (target) part(target).focus();
  else if (event.key === " " && event.target === document.body) {
    event.preventDefault();
    hold();
  }
});

const stream = new EventSource("api/stream");
stream.addEventListener("open", () => {
  part("link").textContent = "live";
  part("link").className = "";
});
stream.addEventListener("error", () => {
  // once: it is tried again and again
  if (part("link").className !== "bad") part("link").textContent = `not connected since ${new Date().toISOString().slice(11, 19)} UTC: what is shown is old`;
  part("link").className = "bad";
});
stream.addEventListener("tick", (event) => {
  if (!held) show(JSON.parse(event.data));
});
