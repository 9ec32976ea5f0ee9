// Inserted after the charts of lab/report/report.html: D is results.json.
const LEAST_ROUNDS = 5, MOVING_S = 10, rounds = Math.max(...D.policies.map(p => p.rounds.length));
const needs = `needs ${LEAST_ROUNDS} rounds`, palette = D.policies.map((p, i) => p.name === D.base ? "var(--ink)" : hue(i, D.policies.length));
const range = (v, format) => v ? v.low === null ? `${format(v.iqm)} [${needs}]` : `${format(v.iqm)} [${format(v.low)}, ${format(v.high)}]` : "";

root.append(el("h1", {}, "Policies on a real cluster"));
root.append(el("p", {class: "lead"}, `Real kubelets, pods and users; each policy of each round starts on a fresh cluster with the same schedule. Workload ${D.workload}: ${D.pods} pods on ${D.nodes.length} nodes, ${D.seconds} s. ${D.base} and most-allocated are kube-scheduler alone. Joules are estimated, not measured. ${rounds < LEAST_ROUNDS ? `Only ${rounds} rounds: no interval and no verdict.` : "Whiskers and brackets are 95% bootstrap intervals over rounds."}`));

const facts = el("table"); for (const [name, value] of Object.entries(D.conditions)) facts.append(el("tr", {}, el("td", {}, name), el("td", {style: "text-align:left"}, String(value))));
root.append(el("section", {}, el("h2", {}, "Conditions"), facts));

const table = el("table"), head = el("tr", {}, el("th", {}, "")); for (const c of D.columns) head.append(el("th", {}, c.title)); table.append(head);
D.policies.forEach((p, i) => { const row = el("tr", {}, el("td", {style: `color:${palette[i]}`}, p.name)); for (const c of D.columns) row.append(el("td", {}, range(p.figures[c.name], fmt))); table.append(row); });
root.append(el("section", {}, el("h2", {}, "Means over rounds"), el("div", {class: "scroll"}, table)));

const ratios = el("div", {class: "two"});
for (const c of D.columns.filter(c => c.has_ratio)) {
  const rows = D.policies.filter(p => p.over_base[c.name]).map(p => ({name: p.name, ...p.over_base[c.name], star: p.over_base[c.name].low === null ? ` (${needs})` : ""}));
  if (rows.length) ratios.append(el("div", {}, el("h3", {}, c.title), forest(rows, {zero: 0, format: pct, axis: `ratio to ${D.base} - 1, paired by round`})));
}
root.append(el("section", {}, el("h2", {}, `Against ${D.base}`), ratios));

// Mean over rounds at each second, then a moving average.
const averaged = pick => D.policies.map((p, i) => ({name: p.name, colour: palette[i], x: p.series[0].at_s,
  y: smooth(p.series[0].at_s.map((_, k) => p.series.reduce((sum, s) => sum + pick(s, k), 0) / p.series.length), MOVING_S)}));
const over = el("div", {class: "two"});
for (const [name, unit, pick] of [["estimated watts of all nodes", "W", (s, k) => s.watts[k]], ["active nodes", "nodes", (s, k) => s.pods[k].filter(n => n > 0).length],
  ["placed pods", "pods", (s, k) => s.pods[k].reduce((a, b) => a + b, 0)]])
  over.append(el("div", {}, el("h3", {}, `${name}, moving average of ${MOVING_S} s`), lines(averaged(pick), {xLabel: "time, s", yLabel: unit})));
root.append(el("section", {}, el("h2", {}, "Over time"), over));

const each = el("div", {class: "two"});
for (const p of D.policies) {
  const cell = el("div"), show = n => { while (cell.childNodes.length > 1) cell.lastChild.remove(); const s = p.series.find(s => String(s.round) === n); cell.append(stacked({trace: {at_s: s.at_s, pods: s.pods}})); };
  cell.append(el("h3", {}, `${p.name}, round `, chooser(p.series.map(s => String(s.round)), String(p.series[0].round), show))); show(String(p.series[0].round)); each.append(cell);
}
root.append(el("section", {}, el("h2", {}, "Placed pods per node over time"), each));
