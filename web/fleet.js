// fleet: shows watts now and over time, and all nodes as a map and as a list.
import { get, listen } from '/page/api.js';
import { choice, cost, count, fill, h, joules, link, moment, number, panel, percent, problem, span, tag, tiles, watts, ABSENT } from '/page/dom.js';
import { heat } from '/page/heat.js';
import { timeline } from '/page/history.js';
import { place, placed, placedChoice } from '/page/place.js';
import { savings } from '/page/savings.js';
import { POWER, rests, sleep } from '/page/sleep.js';
import { filter, table } from '/page/table.js';

const STATES = [['all', 'all'], ['measured', 'measured'], ['estimated', 'estimated'], ['masked', 'accept no pods'], ['silent', 'silent'], ['asleep', 'asleep']];
const BY = [['power', 'watts'], ['use', 'use'], ['pressure', 'pressure'], ['latency', 'latency']];
const ZONE = 'topology.kubernetes.io/zone';

export const nodeStates = (node) => {
  const kube = node.kubernetes, power = node.power && node.power.state !== 'awake' ? node.power.state : null;
  return [
    power && tag(power, POWER[power]), !rests(node) && (!node.connected || node.age_ms === null || node.age_ms > 15_000) && tag('silent', 'bad'),
    kube && kube.deleted && tag('deleted', 'bad'), kube && kube.ready === false && tag('not ready', 'bad'),
    kube && kube.schedulable === false && tag('cordoned', 'warn'), node.starts >= node.start_cap && tag('start cap', 'warn')];
};
// Energy since the controller knows a node or pod, with money and CO2 if there is a tariff.
export const energyOf = (of) => [joules(of.energy_j), cost(of)].filter(Boolean).join(', ');
export const estimated = (node) => (node.energy_source === 'estimated' && node.power_w !== null ? [' ', tag('est')] : null);
const most = (psi) => { const values = ['cpu', 'memory', 'io'].map((kind) => psi[`${kind}_some_ratio`]).filter((v) => v !== null); return values.length ? Math.max(...values) : null; };
export const used = (node) => (node.cpu_cores && node.cpu_used_cores !== null ? node.cpu_used_cores / node.cpu_cores : null);
const latency = (node) => { const probe = node.latency.find((each) => each.target === 'default') || node.latency[0]; return probe && probe.p50_ms !== null ? `${number(probe.p50_ms, 1)} ms` : ABSENT; };

// Same text as on the command line: the measured share and its relation to the budget.
function budgetOf(budget) {
  const measured = percent(budget.measured, 1);
  if (!budget.in_force) return [measured, 'of pods\' time; no budget'];
  const of = `of pods' time; the budget is ${percent(budget.limit, 1)}`;
  return [measured, budget.exceeded ? [of, ' ', tag(`${number(budget.used_ratio, 1)} times the budget`, 'bad')] : of];
}

const COLUMNS = [
  { label: 'Node', width: 'minmax(130px, 2fr)', sort: 'name', cell: (n) => link('node', n.name) },
  { label: 'Power', width: 'minmax(125px, 1fr)', number: true, sort: 'power_w', cell: (n) => [watts(n.power_w), estimated(n)] },
  { label: 'Idle', width: '85px', number: true, cell: (n) => watts(n.idle_w) },
  { label: 'Active', width: '85px', number: true, cell: (n) => watts(n.idle_w === null || n.power_w === null ? null : Math.max(0, n.power_w - n.idle_w)) },
  { label: 'Use', width: '80px', number: true, sort: 'use_ratio', cell: (n) => percent(used(n)) },
  { label: 'Cores', width: '100px', number: true, sort: 'cpu_used_cores', cell: (n) => `${number(n.cpu_used_cores, 2)} / ${number(n.cpu_cores)}` },
  { label: 'Pressure', width: '90px', number: true, sort: 'pressure_ratio', cell: (n) => percent(most(n.psi), 1) },
  { label: 'Latency', width: '90px', number: true, sort: 'latency_ms', cell: latency },
  { label: 'Pods', width: '70px', number: true, sort: 'pods', cell: (n) => count(n.pods) },
  { label: 'Energy', width: 'minmax(105px, 215px)', number: true, sort: 'energy_j', cell: energyOf },
  { label: 'State', width: 'minmax(90px, 1fr)', cell: nodeStates },
];

export function fleet() {
  const ends = [];
  const facts = tiles([['saving', 'Saving', 'modelled', true], ['energy', 'Energy per day'], ['idle', 'Idle power'], ['sleep', 'Sleep would save'], ['measured', 'Measured', 'measured'], ['estimated', 'Estimated', 'estimated'], ['nodes', 'Nodes'], ['cores', 'Cores in use', 'cores'], ['pods', 'Pods', 'pods'], ['decisions', 'Decisions', 'decisions'], ['by', 'Decided by', null, true], ['waiting', 'Waiting for CPU', 'waiting'], ['late', 'Above soft latency', 'latency'], ['mode', 'Mode']]);
  const levers = savings(), rest = sleep();
  const note = problem(), alarms = h('div', { class: 'alarms', role: 'status' });
  let alarmed = null, asleep = null;

  const curves = timeline(['power', 'waiting', 'decisions', 'pods']);
  const map = heat((name) => { location.hash = `#/node/${encodeURIComponent(name)}`; });
  const by = placedChoice('by', BY), state = placedChoice('state', STATES);
  let edition = null, group = placed('group');
  const names = async () => {
    const answer = (await get('heat', { label: group })).heat;
    edition = answer.edition;
    map.names(answer.names, answer.groups || null);
    map.give(answer.cells);
  };
  const label = h('input', { class: 'span', 'aria-label': 'Group by the label', placeholder: 'any label', autocomplete: 'off', value: group === ZONE ? '' : group, onchange: () => groupBy(label.value.trim()) });
  const groupBy = (key) => { group = key; place({ group }); names().catch(note.report); };
  const narrow = () => { map.only(line.value, state.value); list.reload(); };
  const matched = h('span', { class: 'dim' });
  const line = filter('Filter by name', () => narrow());
  const list = table({
    label: 'Nodes', what: 'nodes', columns: COLUMNS, sort: 'power_w', order: 'desc', none: 'No nodes yet. No agent has registered.', href: (n) => `#/node/${encodeURIComponent(n.name)}`,
    query: () => ({ filter: line.value, state: state.value }),
    onAnswer: (answer, error) => { if (answer) fill(matched, `${count(answer.matched)} of ${count(answer.total)}`); note.report(error); },
  });

  const onFleet = ({ fleet: now }) => {
    const texts = JSON.stringify(now.alarms);
    if (texts !== alarmed) fill(alarms, now.alarms.map((each) => h('p', { class: 'alarm' }, `${each.text}. `, h('a', { href: `#/${each.view}` }, 'Details'))));
    alarmed = texts;
    if (asleep !== null && asleep !== now.nodes_asleep) { levers.begin(); rest.begin(); }
    asleep = now.nodes_asleep;
    const m = now.modelled, saved = m && m.saved_w !== null;
    const { idle } = now, daily = (part) => [joules(part.energy_j_per_day), cost(part, '_per_day')].filter(Boolean).join(', ');
    facts.set('saving', watts(m && m.total_saved_w), m ? [m.text, saved && `; ${daily(m)} per day`] : 'not modelled: mode is off');
    facts.set('idle', watts(idle.power_w), idle.power_w !== null && `${percent(idle.ratio)} of the power, ${daily(idle)} per day`);
    const { sleeping } = idle;
    facts.set('sleep', sleeping.nodes > 0 ? watts(sleeping.power_w) : ABSENT, sleeping.nodes > 0 ? `${daily(sleeping)} per day, if ${sleeping.assumption}` : sleeping.assumption);
    const power = now.measured_w === null && now.estimated_w === null ? null : now.measured_w + now.estimated_w;
    facts.set('energy', power === null ? ABSENT : joules(power * 86_400), power !== null && [cost(now, '_per_day'), `at ${watts(power)} now`].filter(Boolean).join(', '));
    facts.set('measured', watts(now.measured_w), `${count(now.nodes_measured)} nodes with measured power`);
    facts.set('estimated', watts(now.estimated_w), `${count(now.nodes_estimated)} nodes, estimated from their use${now.nodes_asleep > 0 ? ' or sleep' : ''}`);
    facts.set('nodes', count(now.nodes), `${count(now.nodes_silent)} silent, ${now.nodes_asleep > 0 ? `${count(now.nodes_asleep)} asleep, ` : ''}${count(now.nodes_masked)} accept no pods`);
    facts.set('cores', number(now.cpu_used_cores, 1), `of ${number(now.cpu_cores)}, ${percent(now.cpu_cores ? now.cpu_used_cores / now.cpu_cores : null)}`);
    facts.set('pods', count(now.pods));
    facts.set('decisions', count(now.decisions), `${count(now.placements)} pods placed, ${count(now.outcomes)} with an outcome, since the start at ${moment(now.wall_ns - now.uptime_s * 1e9)}`);
    facts.set('by', now.decides.who.replace(/^the (policy|network) /, ''), now.decides.why);
    facts.set('waiting', ...budgetOf(now.budgets.cpu_wait));
    facts.set('late', ...budgetOf(now.budgets.late));
    facts.set('mode', now.mode, `policy ${now.policy}, up ${span(now.uptime_s)}`);
  };
  const onHeat = ({ heat: now }) => {
    if (now.edition !== edition) names().catch(note.report);
    else map.give(now.cells);
  };
  ends.push(listen('fleet', onFleet), listen('heat', onHeat));
  const timer = setInterval(() => { if (!document.hidden) list.refresh(); }, 4000);

  return {
    element: h('div', null, h('h1', null, 'Fleet'), note.element, alarms, facts.element, levers.element,
      h('div', { class: 'two' }, curves.panels.power(curves.controls),
        panel('Nodes by', [choice('Measure', BY, by.value, (value) => { by.set(value); map.by(value); }), choice('Group', [['', 'ungrouped'], [ZONE, 'zone']], group, (value) => { label.value = ''; groupBy(value); }), label], map.element),
        curves.panels.waiting(), curves.panels.decisions(), curves.panels.pods(), curves.events()),
      panel('Nodes', [line, choice('State', STATES, state.value, (value) => { state.value = value; state.set(value); narrow(); }), matched], list.element), rest.element),
    begin() { map.by(by.value); map.only(line.value, state.value); curves.begin(); levers.begin(); rest.begin(); names().catch(note.report); get('fleet').then(onFleet, note.report); list.reload(); },
    end() { clearInterval(timer); levers.end(); rest.end(); ends.forEach((end) => end()); curves.end(); map.end(); },
  };
}
