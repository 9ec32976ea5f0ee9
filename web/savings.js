// savings: lists the savings that are available on the cluster now, the largest first, like `wattle savings`.
import { get } from '/page/api.js';
import { ABSENT, cost, count, fill, h, joules, number, panel, percent, problem, tag, watts, wide } from '/page/dom.js';

const EVERY = 60_000;
const daily = (part) => [joules(part.energy_j_per_day), cost(part, '_per_day')].filter(Boolean).join(', ');
const interval = (lever) => (lever.saved_w === null ? ABSENT : lever.saved_low_w !== null ? `${number(lever.saved_low_w, 1)} to ${number(lever.saved_high_w, 1)} W` : `none: ${lever.no_interval}`);
const state = (lever) => (lever.in_force ? tag('in force', 'good') : lever.saved_w === null ? tag('unknown') : tag(lever.saved_w > 0 ? 'available' : 'nothing to gain'));

export function savings() {
  const note = problem(), reported = h('p', { class: 'sentence' }), body = h('tbody');
  const row = (lever) => h('tr', null, h('td', null, lever.lever), h('td', { class: 'number' }, watts(lever.saved_w)), h('td', null, interval(lever)),
    h('td', { class: 'number' }, lever.saved_w === null ? ABSENT : daily(lever)), h('td', { class: 'number' }, count(lever.nodes)), h('td', null, state(lever)),
    h('td', { class: 'prose' }, lever.text, ' ', lever.measured && h('small', null, `Measured: ${lever.measured}.`)), h('td', null, lever.command && h('code', null, lever.command)));
  const load = async () => {
    let now;
    try { now = await get('savings'); } catch (error) { return note.report(error); }
    note.report(null);
    const { sum } = now;
    const without = now.power_w + sum.in_force_w;
    fill(reported, sum.in_force_w > 0 && `In force: ${watts(sum.in_force_w)} (${percent(sum.in_force_w / without)} of the power without it), modelled.`, ' ', `Available in all: ${watts(sum.saved_w)}${now.power_w > 0 ? ` of ${watts(now.power_w)} (${percent(sum.saved_w / now.power_w)})` : ''}, ${daily(sum)} per day, modelled.`, ' ', h('span', { class: 'dim' }, now.assumes));
    return fill(body, now.levers.map(row));
  };
  const timer = setInterval(() => { if (!document.hidden) load(); }, EVERY);
  return {
    element: panel('Savings', null, note.element, reported, wide(h('table', null, h('thead', null, h('tr', null,
      [['Lever'], ['Saves', 1], ['95% interval'], ['Per day', 1], ['Nodes', 1], ['State'], ['What'], ['Apply with']].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)))), body))),
    begin: load, end() { clearInterval(timer); },
  };
}
