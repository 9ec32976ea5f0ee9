// sleep: shows the power states of nodes, the sleep plan and the last transitions, like `wattle sleep`.
import { get } from '/page/api.js';
import { count, cost, fill, h, joules, link, moment, panel, problem, span, tag, wide } from '/page/dom.js';

const EVERY = 30_000, SHOWN = 10;
export const POWER = { awake: 'good', idle: '', draining: '', suspending: '', asleep: 'est', waking: '', probation: '', blocked: 'warn', failed: 'bad', unknown: 'warn' };
// Its agent may be silent, because Wattle put the node to sleep or wakes it.
export const rests = (node) => node.power && ['suspending', 'asleep', 'waking', 'probation'].includes(node.power.state);
const at = (seconds) => moment(seconds === null ? null : seconds * 1e9);
const rows = (titles, list) => wide(h('table', null, h('thead', null, h('tr', null, titles.map((text) => h('th', { scope: 'col' }, text)))), h('tbody', null, list)));

export function sleep() {
  const note = problem(), plan = h('p', { class: 'sentence' }), totals = h('p', { class: 'sentence' }), states = h('div'), past = h('div');
  const element = panel('Sleep', null, note.element, plan, totals, states, past);
  element.hidden = true;
  const load = async () => {
    let now;
    try { now = await get('sleep', { limit: SHOWN }); } catch (error) { return note.report(error); }
    note.report(null);
    element.hidden = now.mode === 'off';
    if (element.hidden) return null;
    const first = now.sleep.slice(0, SHOWN).map((node) => `${node.name}${node.moves.length ? ` (${count(node.moves.length)} pods move)` : ''}`);
    fill(plan, now.age_s === null ? 'No sleep plan yet.' : now.sleep.length === 0 ? `The plan puts no node to sleep; ${count(now.awake.length)} ${now.awake.length === 1 ? 'stays' : 'stay'} awake.`
      : [`By the plan, ${count(now.sleep.length)} ${now.sleep.length === 1 ? 'node' : 'nodes'} could sleep: ${first.join(', ')}${now.sleep.length > SHOWN ? ', …' : ''}. It saves ${[joules(now.saved_j_per_day), cost(now, '_per_day')].filter(Boolean).join(', ')} per day.`]);
    const sums = now.totals;
    fill(totals, now.nodes.length > 0 && `Complete round trips saved ${[joules(sums.saved_j + sums.tests_j), cost(sums)].filter(Boolean).join(', ')} (modelled), net of transitions. Round trips: ${count(sums.cycles)}${sums.tests > 0 ? `, of them tests of nodes: ${count(sums.tests)}, which cost ${joules(sums.tests_j)}` : ''}. Failures: ${sums.failures.map((each) => `${count(each.count)} ${each.cause}`).join(', ') || 'none'}. ${count(sums.waited_pods)} pods waited for a wake${sums.waited_pods > 0 ? `, ${span(sums.waited_s / sums.waited_pods)} on average` : ''}.`);
    fill(states, now.nodes.length > 0 && rows(['Node', 'State', 'Since', 'Proven', 'Today', 'Reason'], now.nodes.map((node) => h('tr', null,
      h('td', null, link('node', node.name)), h('td', null, tag(node.state, POWER[node.state]), node.presumed && [' ', tag('presumed')]), h('td', null, at(node.since_wall_s)),
      h('td', null, `${count(node.round_trips)} of ${count(node.round_trips_needed)}`), h('td', null, `${count(node.cycles_today)} of ${count(node.cycles_per_day)}`), h('td', null, node.reason)))));
    return fill(past, now.transitions.length > 0 && [h('p', { class: 'dim' }, 'Last transitions'), rows(['Time', 'Node', 'From', 'To', 'Reason'], now.transitions.slice(0, 5).map((each) => h('tr', null,
      h('td', null, at(each.at_wall_s)), h('td', null, link('node', each.node)), h('td', null, each.from), h('td', null, each.to), h('td', null, each.reason))))]);
  };
  const timer = setInterval(() => { if (!document.hidden) load(); }, EVERY);
  return { element, begin: load, end() { clearInterval(timer); } };
}
