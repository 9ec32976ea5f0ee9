// cost: shows the cost of namespaces, owners, nodes, label values or containers, like `wattle report`.
import { get } from '/page/api.js';
import { place, placed } from '/page/place.js';
import { ABSENT, choice, cost as costOf, count, fill, h, joules, link, moment, number, panel, percent, problem, span, tiles, wide } from '/page/dom.js';

const SPANS = [['24h', '1 d'], ['7d', '7 d'], ['30d', '30 d']];
const BY = [['namespace', 'namespace'], ['owner', 'owner'], ['node', 'node'], ['label', 'label'], ['container', 'container']];
// Digits as on the command line.
const coreHours = (hours) => number(hours, hours < 1 ? 3 : 2);
const sum = (energy) => energy.measured_j + energy.estimated_j;

export function cost() {
  const note = problem(), summary = h('p', { class: 'sentence' }), body = h('tbody'), head = h('tr');
  const facts = tiles([['drawn', 'Energy of nodes'], ['estimated', 'Estimated part', 'estimated'], ['idle', 'Idle part'], ['unattributed', 'Unattributed'], ['cores', 'Core-hours', 'cores'], ['placements', 'Placements']]);
  const label = h('input', { type: 'search', placeholder: 'key of the label, for example team', 'aria-label': 'Key of the label', value: placed('label'), hidden: placed('by') !== 'label', onchange: () => settle({ label: label.value.trim() }) });
  let since = placed('since', '7d'), by = placed('by', 'namespace'), asked = 0;
  const cells = (row, all, priced) => [joules(row.measured_j), joules(row.estimated_j), priced && (costOf(row) || ABSENT), percent(all > 0 ? sum(row) / all : null, 1), coreHours(row.core_h), row.waited_s === null ? ABSENT : span(row.waited_s), percent(row.waiting_ratio, 2), count(row.placements), count(row.workloads)]
    .filter((text) => text !== false).map((text) => h('td', { class: 'number' }, text));
  const load = async () => {
    const mine = ++asked;
    if (by === 'label' && !label.value.trim()) {
      note.report(null);
      fill(body);
      return fill(summary, 'Enter the key of a label.');
    }
    let report;
    try { report = await get('report', { since, by, label: by === 'label' ? label.value.trim() : undefined }); } catch (error) { return mine === asked && note.report(error); }
    if (mine !== asked) return null;
    note.report(null);
    const all = sum(report.nodes), rows = report.rest ? [...report.rows, { key: `${count(report.rest.rows)} more`, ...report.rest }] : report.rows;
    const first = report.rows[0];
    fill(summary, report.from_wall_s === null ? 'No usage recorded yet.' : [`Since ${moment(report.from_wall_s * 1e9)}${report.cut ? ', when recording began,' : ''} all nodes have used ${joules(all)}`,
      first ? `; ${report.label || by} ${first.key} used most of the energy of workloads: ${joules(sum(first))} in ${coreHours(first.core_h)} core-hours.` : '; workloads have used no energy.'].join(''));
    facts.set('drawn', joules(all), costOf(report.nodes) || 'workloads, idle and unattributed');
    facts.set('estimated', joules(report.nodes.estimated_j), all > 0 && percent(report.nodes.estimated_j / all));
    facts.set('idle', joules(sum(report.idle)), [costOf(report.idle), 'drawn without any work'].filter(Boolean).join(', '));
    facts.set('unattributed', joules(sum(report.unattributed)), [costOf(report.unattributed), 'neither idle nor of a workload'].filter(Boolean).join(', '));
    facts.set('cores', coreHours(rows.reduce((total, row) => total + row.core_h, 0)));
    facts.set('placements', count(rows.reduce((total, row) => total + row.placements, 0)));
    const priced = Boolean(costOf(report.nodes));
    fill(head, [[report.label || by], ['Measured', 1], ['Estimated', 1], priced && ['Cost, CO2', 1], ['Share', 1], ['Core-hours', 1], ['Waited', 1], ['Waiting', 1], ['Placed', 1], ['Workloads', 1]].filter(Boolean).map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)));
    fill(body, rows.map((row) => h('tr', null, h('td', null, by === 'node' && row !== report.rest ? link('node', row.key) : row.key), cells(row, all, priced))),
      [['(idle)', report.idle], ['(unattributed)', report.unattributed], ['(all nodes)', report.nodes]].map(([key, part]) => h('tr', null, h('td', null, key), cells({ waited_s: null, ...part }, all, priced))));
    return null;
  };
  const settle = (values) => { place(values); load(); };
  const timer = setInterval(() => { if (!document.hidden) load(); }, 30_000);
  return {
    element: h('div', null, h('h1', null, 'Cost'), note.element, panel('Summary', null, summary), facts.element,
      panel('Used by', [choice('Since', SPANS, since, (value) => { since = value; settle({ since: value === '7d' ? '' : value }); }), choice('By', BY, by, (value) => { by = value; label.hidden = value !== 'label'; settle({ by: value === 'namespace' ? '' : value }); }), label],
        wide(h('table', null, h('thead', null, head), body)))),
    begin: load, end() { clearInterval(timer); },
  };
}
