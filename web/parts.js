// parts: views of one node, of the pod list and of one pod.
import { get, listen } from '/page/api.js';
import { ABSENT, bytes, cost, count, fill, h, joules, link, number, panel, percent, problem, shown, span, tag, tiles, watts, wide } from '/page/dom.js';
import { energyOf, estimated, nodeStates, used } from '/page/fleet.js';
import { timeline } from '/page/history.js';
import { filter, table } from '/page/table.js';
import { findings } from '/page/health.js';
import { label, sentence } from '/page/decisions.js';

export const podName = (pod) => (pod.name ? `${pod.namespace || 'default'}/${pod.name}` : pod.uid);
const PRESSURES = [['cpu', 'CPU'], ['memory', 'memory'], ['io', 'I/O']];

// The history of nodes and pods ends after a day.
const SPANS = [['1h', '1 h'], ['24h', '24 h']];
const POWER = { title: 'Watts', format: watts, lines: [{ name: 'power_w', label: 'power', colour: 'measured', area: true }] };
const NODE_CHARTS = {
  power: POWER,
  use: { title: 'Use and pressure', format: (v) => percent(v, v !== null && v < 0.1 ? 1 : 0), lines: [{ name: 'use_ratio', label: 'CPU use', colour: 'cores' }, { name: 'pressure_ratio', label: 'pressure', colour: 'waiting' }] },
  latency: { title: 'Latency', format: (v) => (v === null ? ABSENT : `${number(v, 1)} ms`), lines: [{ name: 'latency_ms', label: 'median to users', colour: 'latency' }] },
};
const POD_CHARTS = { power: POWER, cores: { title: 'Cores', format: (v) => number(v, 2), lines: [{ name: 'cpu_cores', label: 'cores', colour: 'cores', area: true }] } };
// The charts of a node or a pod, and where they stand on its page.
function series(charts, query) {
  const keys = Object.keys(charts), curves = timeline(keys, charts, query, SPANS);
  return { ...curves, element: h('div', { class: 'two' }, keys.map((key) => curves.panels[key](key === keys[0] && curves.controls)), curves.events()), source: (energy) => curves.paint('power', energy === 'estimated' ? 'estimated' : 'measured') };
}

const pressureTable = (psi) => wide(h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Waits for'), h('th', { scope: 'col', class: 'number' }, 'some'), h('th', { scope: 'col', class: 'number' }, 'all'))),
  h('tbody', null, PRESSURES.map(([key, label]) => h('tr', null, h('td', null, label), h('td', { class: 'number' }, percent(psi[`${key}_some_ratio`], 1)), h('td', { class: 'number' }, percent(psi[`${key}_full_ratio`], 1)))))));

function workloads(list) {
  return wide(h('table', null,
    h('thead', null, h('tr', null, ['Workload', 'Kind', 'Power', 'Energy', 'Cores', 'Memory', 'Age'].map((label, i) => h('th', { scope: 'col', class: i > 1 ? 'number' : null }, label)))),
    h('tbody', null, list.slice(0, 200).map((w) => h('tr', null, h('td', null, w.kind === 'pod' ? link('pod', w.uid, podName(w)) : w.uid), h('td', null, w.kind),
      [[watts(w.power_w), estimated(w)], energyOf(w), number(w.cpu_cores, 2), bytes(w.memory_bytes), span(w.age_s)].map((text) => h('td', { class: 'number' }, text))))),
  ), list.length > 200 && h('p', { class: 'dim' }, `${list.length - 200} more with less power: wattle node`));
}

// Runs `update` on each push of the stream, never concurrently.
function pushed(update) {
  let busy = false;
  const again = async () => { if (busy) return; busy = true; try { await update(); } finally { busy = false; } };
  return { again, end: listen('fleet', again) };
}

export function node(name) {
  const title = h('span');
  const note = problem(), failed = note.report;
  const facts = tiles([['power', 'Power'], ['idle', 'Idle'], ['active', 'Active'], ['unattributed', 'Unattributed'], ['use', 'Cores in use', 'cores'], ['memory', 'Memory'], ['pods', 'Pods', 'pods'], ['energy', 'Energy'], ['curve', 'Power curve']]);
  const curves = series(NODE_CHARTS, { node: name });
  const pressure = h('div'), works = h('div'), checks = h('div'), labels = h('div');
  const live = pushed(async () => {
    try {
      const { node: n } = await get('node', { name });
      failed(null);
      rest.hidden = false;
      curves.source(n.energy_source);
      fill(title, nodeStates(n));
      facts.set('power', [watts(n.power_w), estimated(n)], n.energy_source === 'none' ? 'no source of energy' : `source: ${n.energy_source}`);
      facts.set('idle', watts(n.idle_w), n.idle_w !== null && n.power_w > 0 && `${percent(n.idle_w / n.power_w)} of its power`);
      facts.set('active', watts(n.idle_w === null || n.power_w === null ? null : Math.max(0, n.power_w - n.idle_w)), 'more than if it were idle');
      facts.set('unattributed', watts(n.unattributed_w), 'not attributed to a workload');
      facts.set('use', number(n.cpu_used_cores, 2), `of ${number(n.cpu_cores)}; requested ${number(n.cpu_requested_cores, 1)}`);
      facts.set('memory', bytes(n.memory_used_bytes), `of ${bytes(n.memory_total_bytes)}`);
      facts.set('pods', count(n.pods), `${n.in_flight} expected${n.pod_capacity ? `, room for ${count(n.pod_capacity)}` : ''}`);
      facts.set('energy', joules(n.energy_j), [cost(n), 'since the controller knows it'].filter(Boolean).join(', '));
      facts.set('curve', n.curve ? `${watts(n.curve.idle_w)} – ${watts(n.curve.max_w)}` : ABSENT, n.curve && (n.curve.source === 'fitted' ? `fitted to ${count(n.curve.samples)} readings` : 'from its type, not fitted yet'));
      fill(pressure, pressureTable(n.psi));
      fill(works, n.workloads.length ? workloads(n.workloads) : h('p', { class: 'empty' }, 'no workloads'));
      fill(checks, findings(n.findings));
      fill(labels, Object.entries(n.labels).map(([key, value]) => [tag(`${key}=${value}`), ' ']));
      const now = n.psi && PRESSURES.map(([key]) => n.psi[`${key}_some_ratio`]).filter((v) => v !== null);
      const probe = n.latency.find((each) => each.target === 'default');
      curves.give({ power_w: n.power_w, use_ratio: used(n), pressure_ratio: now && now.length ? Math.max(...now) : null, latency_ms: probe ? probe.p50_ms : null });
    } catch (error) {
      if (error.status === 404) rest.hidden = true;
      failed(error);
    }
  });
  // Hidden for an unknown node.
  const rest = h('div', { hidden: true }, facts.element, curves.element,
    h('div', { class: 'two' }, panel('Pressure', null, pressure), panel('Agent', null, checks)), panel('Workloads', null, works), panel('Labels', null, labels));
  return {
    element: h('div', null, h('h1', null, 'Node ', name, ' ', title), note.element, rest),
    begin() { live.again().then(curves.begin); },
    end() { live.end(); curves.end(); },
  };
}

const POD_COLUMNS = [
  { label: 'Pod', width: 'minmax(190px, 2fr)', sort: 'name', cell: (p) => link('pod', p.uid, podName(p)) },
  { label: 'Node', width: 'minmax(115px, 1fr)', cell: (p) => link('node', p.node) },
  { label: 'Power', width: '110px', number: true, sort: 'power_w', cell: (p) => [watts(p.power_w), estimated(p)] },
  { label: 'Energy', width: 'minmax(105px, 215px)', number: true, sort: 'energy_j', cell: energyOf },
  { label: 'Cores', width: '70px', number: true, sort: 'cpu_cores', cell: (p) => number(p.cpu_cores, 2) },
  { label: 'Memory', width: '100px', number: true, sort: 'memory_bytes', cell: (p) => bytes(p.memory_bytes) },
  { label: 'Age', width: '80px', number: true, sort: 'age_s', cell: (p) => span(p.age_s) },
  { label: 'Why there', width: 'minmax(290px, 2fr)', cell: (p) => (p.decision_id === null ? 'placed without a request' : link('decision', p.decision_id, p.why || `decision ${p.decision_id}`)) },
];

export function pods() {
  const note = problem(), matched = h('span', { class: 'dim' });
  const line = filter('Filter by pod, namespace, UID or node', () => list.reload());
  const list = table({ label: 'Pods', what: 'pods', columns: POD_COLUMNS, sort: 'power_w', order: 'desc', none: 'No pods. No agent reports one.', href: (p) => `#/pod/${encodeURIComponent(p.uid)}`, query: () => ({ filter: line.value }),
    onAnswer: (answer, error) => { if (answer) fill(matched, `${count(answer.matched)} of ${count(answer.total)}`); note.report(error); } });
  const timer = setInterval(() => { if (!document.hidden) list.refresh(); }, 5000);
  return { element: h('div', null, h('h1', null, 'Pods'), note.element, panel('Pods', [line, matched], list.element)), begin() { list.reload(); }, end() { clearInterval(timer); } };
}

// Table of each container's power and the rest of the pod that belongs to no container's power.
function containerTable(found) {
  if (!found.containers.length) return h('p', { class: 'dim' }, 'No containers known yet.');
  const row = (label, part) => h('tr', null, h('td', null, label), [watts(part.power_w), energyOf(part), percent(found.energy_j > 0 ? part.energy_j / found.energy_j : null, 1), number(part.cpu_cores, 3)]
    .map((text) => h('td', { class: 'number' }, text)));
  return h('table', null, h('thead', null, h('tr', null, [['Container'], ['Power', 1], ['Energy', 1], ['Share', 1], ['Cores', 1]].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)))),
    h('tbody', null, found.containers.map((each) => row(each.name || each.id, each)), row('(rest)', found.rest)));
}

export function pod(uid) {
  const title = h('span', null, uid);
  const note = problem(), failed = note.report;
  const facts = tiles([['node', 'Node'], ['power', 'Power'], ['energy', 'Energy'], ['use', 'Cores in use', 'cores'], ['memory', 'Memory'], ['age', 'Age'], ['why', 'Why it runs there']]);
  const curves = series(POD_CHARTS, { pod: uid });
  const pressure = h('div'), containers = h('div'), why = h('p', { class: 'sentence' });
  let explained;  // unset until requested
  const explain = async (id) => {
    if (id === explained) return;
    explained = id;
    if (id === null) { fill(why, 'The pod was placed without a request to Wattle, so there is no explanation.'); return; }
    try {
      const { decision } = await get('explain', { pod: id });
      fill(why, sentence(decision));
      if (rest.hidden) fill(title, label(decision));
    } catch (error) { fill(why, error.message); }
  };
  const live = pushed(async () => {
    try {
      let found;
      try {
        found = (await get('pod', { pod: uid })).pod;
      } catch (error) {
        if (error.status !== 404) throw error;
        failed(new Error('No agent reports this pod now. It has ended, or its node is silent.'));
        return explain(uid);
      }
      failed(null);
      rest.hidden = false;
      curves.source(found.energy_source);
      fill(title, podName(found));
      document.title = `${shown(podName(found))} · Wattle`;
      facts.set('node', link('node', found.node));
      facts.set('power', [watts(found.power_w), estimated(found)], 'its share of its node');
      facts.set('energy', joules(found.energy_j), [cost(found), 'since it was first seen'].filter(Boolean).join(', '));
      facts.set('use', number(found.cpu_cores, 3));
      facts.set('memory', bytes(found.memory_bytes));
      facts.set('age', span(found.age_s));
      facts.set('why', found.decision_id === null ? 'placed without a request' : link('decision', found.decision_id, `decision ${found.decision_id}`));
      fill(pressure, pressureTable(found.psi));
      fill(containers, containerTable(found));
      curves.give(found);
      return explain(found.decision_id);
    } catch (error) { return failed(error); }
  });
  // Hidden for a pod without telemetry, for which only the explanation of its placement exists.
  const rest = h('div', { hidden: true }, facts.element, curves.element, panel('Containers', null, wide(containers)), panel('Pressure', null, pressure));
  return { element: h('div', null, h('h1', null, 'Pod ', title), note.element, panel('Why it runs there', null, why), rest), begin() { live.again().then(curves.begin); }, end() { live.end(); curves.end(); } };
}
