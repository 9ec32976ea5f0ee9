// decisions: lists decisions as they are made, and shows one: a sentence, then all nodes side by side.
import { get, listen } from '/page/api.js';
import { whatIf } from '/page/whatif.js';
import { ABSENT, clock, count, fill, h, link, moment, number, panel, percent, problem, tag, tiles, watts, wide } from '/page/dom.js';

const KEPT = 200;
const MOST = 300;  // candidates shown
export const label = (d) => (d.pod_name ? `${d.pod_namespace || 'default'}/${d.pod_name}` : d.pod_uid);
const marginal = (d) => (d.advice ? d.marginal_w : null);
// What made a decision, as on the command line: the name of a policy that is a rule, else a word such as "network".
const decider = (d) => (d.decided_by === 'rule' ? (/^the choice of the policy ([^:]+)/.exec(d.reason) || [null, d.policy])[1] : d.decided_by || d.mode);

const row = (d) => h('tr', null,
  h('td', { class: 'number' }, link('decision', d.id)), h('td', null, clock(d.wall_ns)), h('td', null, label(d)),
  h('td', null, d.advice ? link('node', d.advice) : tag('none')),
  h('td', null, d.placed_on ? link('node', d.placed_on) : ABSENT, d.placed_on && d.advice && d.placed_on !== d.advice ? [' ', tag('elsewhere', 'warn')] : null),
  h('td', { class: 'number' }, watts(marginal(d))), h('td', { class: 'number' }, d.outcome ? number(d.outcome.reward, 3) : ABSENT),
  h('td', { class: 'number' }, `${count(d.candidates - d.masked)} of ${count(d.candidates)}`), h('td', null, tag(decider(d))));

export function decisions() {
  const note = problem(), body = h('tbody'), summary = h('span', { class: 'dim' });
  const rows = new Map();  // by id: what a row shows, and the row; in the order of the table, newest first
  const shown = (d) => JSON.stringify([d.placed_on, d.outcome && d.outcome.reward, marginal(d)]);
  // Adds new rows above the others, and replaces a row only if its decision has changed.
  const show = (list, whole) => {
    const fresh = [];
    for (const d of list) {
      const known = rows.get(String(d.id)), now = shown(d);
      if (known && known.now === now) continue;
      const made = { now, element: row(d) };
      if (known) known.element.replaceWith(made.element); else fresh.push(made.element);
      rows.set(String(d.id), made);
    }
    if (whole) {
      const there = new Set(list.map((d) => String(d.id)));
      for (const [id, each] of rows) if (!there.has(id)) { each.element.remove(); rows.delete(id); }
    }
    const empty = body.querySelector('.empty');
    if (empty && fresh.length) empty.closest('tr').remove();
    body.prepend(...fresh);
    for (let last = body.lastChild; rows.size > KEPT && last; last = body.lastChild) {
      for (const [id, each] of rows) if (each.element === last) rows.delete(id);
      last.remove();
    }
    if (!rows.size && !empty) fill(body, h('tr', null, h('td', { colspan: '9', class: 'empty' }, 'No decisions yet. The controller has received no request.')));
    fill(summary, rows.size ? `the newest ${count(rows.size)}` : '');
  };
  const load = async () => {
    try { show((await get('decisions', { limit: KEPT })).decisions, true); note.report(null); } catch (error) { note.report(error); }
  };
  const end = listen('decisions', ({ decisions: fresh }) => show(fresh, false));
  // Placements and outcomes become known later.
  const timer = setInterval(() => { if (!document.hidden) load(); }, 10_000);
  return {
    element: h('div', null, h('h1', null, 'Decisions'), note.element, panel('Newest decisions', summary, wide(h('table', null,
      h('thead', null, h('tr', null, [['Id', 1], ['Time'], ['Pod'], ['Advised'], ['Placed on'], ['Adds', 1], ['Reward', 1], ['Nodes', 1], ['By']].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)))), body)))),
    begin: load, end() { clearInterval(timer); end(); },
  };
}

// Describes the decision in a sentence.
export function sentence(d) {
  const open = d.candidates.filter((c) => c.masked === null);
  const masked = d.candidates.filter((c) => c.masked !== null);
  const best = open.find((c) => c.node === d.winner) || open[0];
  const parts = [];
  if (!best) parts.push(`No node was feasible for ${label(d)}.`);
  else {
    const next = open.find((c) => c !== best);
    const apart = next && best.marginal_w !== null && next.marginal_w !== null ? next.marginal_w - best.marginal_w : null;
    const than = apart === null ? '' : Math.abs(apart) < 0.05 ? `, the same as on ${next.node}` : `, ${watts(Math.abs(apart))} ${apart > 0 ? 'less' : 'more'} than on ${next.node}`;
    const watt = best.marginal_w === null ? '' : `: it should add ${watts(best.marginal_w)} there${than}`;
    parts.push(`${best.node} was best for ${label(d)}${watt}.`);
    if (apart !== null && apart < -0.05) parts.push('Latency and learned values count too.');
  }
  if (d.explored) parts.push(`Wattle advised ${d.advice} instead, for exploration.`);
  if (d.deferred) parts.push(`It should wait; retry in ${Math.ceil(d.deferred.again_s)} s.`);
  else if (!d.advice) parts.push('Wattle gave no advice.');
  if (d.placed_on) parts.push(d.placed_on === d.advice ? 'The pod was placed there.' : `The pod was placed on ${d.placed_on}.`);
  if (masked.length) {
    const why = new Map();
    masked.forEach((c) => why.set(c.masked, [...(why.get(c.masked) || []), c.node]));
    const first = [...why].slice(0, 3).map(([text, nodes]) => `${nodes.slice(0, 2).join(' and ')}${nodes.length > 2 ? ` and ${nodes.length - 2} more` : ''} (${text})`);
    parts.push(`Excluded: ${first.join('; ')}${why.size > 3 ? '; and others' : ''}.`);
  }
  return parts.join(' ');
}

// Values observed while the pod ran. All other values of the outcome are parts of the reward.
const SEEN = {
  marginal_w: ['added power', watts], expected_marginal_w: ['average over all nodes', watts], mean_power_w: ['power of its node', watts],
  latency_ms: ['latency to users', (v) => `${number(v, 1)} ms`], cpu_some_ratio: ['share of time waiting for CPU', (v) => percent(v, 1)],
};
const cameOf = (terms) => [...Object.entries(SEEN).filter(([key]) => key in terms).map(([key, [text, format]]) => [text, format(terms[key])]),
  ...Object.entries(terms).filter(([key]) => !(key in SEEN)).map(([key, value]) => [`reward for ${key.replaceAll('_', ' ')}`, number(value, 3)])];
const TERMS = [['energy', 'energy'], ['latency', 'latency'], ['residual', 'learned'], ['policy_value', 'ranked by'], ['uncertainty', 'uncertainty']];

export function decision(id) {
  const note = problem(), summary = h('p', { class: 'sentence' }), other = whatIf(id), side = h('div'), body = h('tbody'), outcome = h('div');
  const facts = tiles([['when', 'When'], ['mode', 'Mode'], ['policy', 'Decided by'], ['took', 'Decided in'], ['reward', 'Reward']]);
  const more = h('div');
  let shown = '';
  const load = async () => {
    let d;
    try { d = (await get('explain', { pod: id })).decision; } catch (error) { return note.report(error); }
    note.report(null);
    const text = JSON.stringify(d);
    if (text === shown) return null;
    shown = text;
    fill(more, d.candidates.length > MOST && h('p', { class: 'dim' }, `${count(d.candidates.length - MOST)} more: wattle explain ${d.id}`));
    fill(body, d.candidates.slice(0, MOST).map((c) => h('tr', { class: c.node === d.winner ? 'chosen' : null },
      h('td', null, link('node', c.node), c.node === d.advice ? [' ', tag('advised', 'good')] : null, c.node === d.placed_on ? [' ', tag('placed')] : null),
      [watts(c.marginal_w), number(c.q, 3), number(c.prior, 3), number(c.residual, 3), count(c.score)].map((text) => h('td', { class: 'number' }, c.masked === null ? text : ABSENT)),
      h('td', null, c.masked === null ? h('label', null, h('input', { type: 'checkbox', checked: other.without.has(c.node), onchange: (event) => { event.target.checked ? other.without.add(c.node) : other.without.delete(c.node); other.ask(); } }), ' exclude') : c.masked))));
    fill(summary, sentence(d));
    facts.set('when', moment(d.wall_ns));
    facts.set('mode', d.mode, d.explored && 'explored');
    facts.set('policy', decider(d), d.reason);
    facts.set('took', `${number(d.decide_us)} µs`);
    facts.set('reward', d.outcome ? number(d.outcome.reward, 3) : 'not yet', d.outcome ? `${d.outcome.preset ? `${d.outcome.preset}, ` : ''}on ${d.outcome.node}` : null);
    const two = [[d.winner, d.winner_terms], [d.runner_up, d.runner_up_terms]].filter(([name, terms]) => name && terms);
    fill(side, two.length ? h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Term'), two.map(([name]) => h('th', { scope: 'col', class: 'number' }, name)))),
      h('tbody', null, TERMS.map(([key, text]) => h('tr', null, h('td', null, text), two.map(([, terms]) => h('td', { class: 'number' }, number(terms[key], 3))))))) : h('p', { class: 'dim' }, 'fewer than two nodes to compare'));
    return fill(outcome, d.outcome ? h('table', null, h('tbody', null, cameOf(d.outcome.terms).map(([text, value]) => h('tr', null, h('td', null, text), h('td', { class: 'number' }, value))))) : h('p', { class: 'dim' }, 'The outcome is available after the pod has run for a while.'));
  };
  // Placement and outcome become known later.
  const timer = setInterval(() => { if (!document.hidden) load(); }, 10_000);
  return {
    element: h('div', null, h('h1', null, 'Decision ', id), note.element, panel('Summary', null, summary), facts.element, panel('What if', null, other.element),
      h('div', { class: 'two' }, panel('The two best nodes', null, wide(side)), panel('Outcome', null, wide(outcome))),
      panel('All candidates', null, wide(h('table', null, h('thead', null, h('tr', null, [['Node'], ['Adds', 1], ['Q', 1], ['Prior', 1], ['Learned', 1], ['Score', 1], ['Excluded']].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)))), body)), more)),
    begin() { load(); other.begin(); }, end() { clearInterval(timer); },
  };
}
