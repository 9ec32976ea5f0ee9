// whatif: repeats a decision on the current cluster with other weights, another size or without some nodes, and shows
// both answers side by side.
import { get } from '/page/api.js';
import { ABSENT, bytes, count, fill, h, number, problem, tag, watts, wide } from '/page/dom.js';

const field = (label, input) => h('label', { class: 'field' }, label, input);
const entry = (name, value, hint) => h('input', { name, value, placeholder: hint, autocomplete: 'off', spellcheck: 'false', size: '8' });

// Describes the change in a sentence. `as_is` and `otherwise` are the answers of the document what-if.
export function whatIfSentence({ as_is: asIs, otherwise }) {
  if (!otherwise.advice) return `Wattle would then advise no node: ${otherwise.reason}.`;
  const of = (answer) => answer.candidates.find((c) => c.node === answer.advice);
  const then = of(otherwise), now = of(asIs);
  const same = otherwise.advice === asIs.advice;
  const parts = [`Wattle would then advise ${otherwise.advice}${same ? ', as now' : ''}`];
  if (then && then.marginal_w !== null) {
    parts.push(`: the pod should add ${watts(then.marginal_w)} there`);
    const more = now && now.marginal_w !== null ? then.marginal_w - now.marginal_w : null;
    if (more !== null && Math.abs(more) >= 0.05) parts.push(`, ${watts(Math.abs(more))} ${more > 0 ? 'more' : 'less'} than ${same ? 'now' : `on ${asIs.advice}, the current advice`}`);
    else if (!same && asIs.advice) parts.push(`; the current advice is ${asIs.advice}`);
  }
  return `${parts.join('')}.`;
}

function bothTable({ as_is: asIs, otherwise }) {
  const names = [...new Set([...otherwise.candidates, ...asIs.candidates].map((c) => c.node))];
  const of = (answer, name) => answer.candidates.find((c) => c.node === name);
  const cells = (c) => [c && c.masked === null ? watts(c.marginal_w) : ABSENT, c && c.masked === null ? number(c.q, 3) : ABSENT, c && c.masked === null ? count(c.score) : ABSENT].map((text) => h('td', { class: 'number' }, text));
  return h('table', null,
    h('thead', null, h('tr', null, [['Node'], ['Adds', 1], ['Q', 1], ['Score', 1], ['Then adds', 1], ['Then Q', 1], ['Then score', 1], ['Excluded because']].map(([text, right]) => h('th', { scope: 'col', class: right ? 'number' : null }, text)))),
    h('tbody', null, names.map((name) => h('tr', { class: name === otherwise.advice ? 'chosen' : null }, h('td', null, name, name === asIs.advice ? [' ', tag('advised now')] : null, name === otherwise.advice ? [' ', tag('advised then', 'good')] : null), cells(of(asIs, name)), cells(of(otherwise, name)), h('td', null, (of(otherwise, name) || {}).masked || '')))));
}

// `without`: names that the list of candidates adds and removes before it calls ask().
export function whatIf(id) {
  const without = new Set();
  const summary = h('p', { class: 'sentence dim', role: 'status' }), both = h('div'), note = problem();
  const sizes = [entry('cpu', '', '250m, 1.5'), entry('memory', '', '64Mi, 2Gi')];
  const weights = h('span', { class: 'fields' });
  let given = {}, asked = 0;
  const question = () => {
    const query = { pod: id };
    if (without.size) query.without = [...without].join(',');
    sizes.forEach((input) => { if (input.value.trim()) query[input.name] = input.value.trim(); });
    weights.querySelectorAll('input').forEach((input) => { if (input.value.trim() !== '' && Number(input.value) !== given[input.name]) query[`weight.${input.name}`] = input.value.trim(); });
    return query;
  };
  const ask = async () => {
    const query = question(), mine = ++asked;
    note.report(null);
    if (Object.keys(query).length === 1) { fill(summary); fill(both); return; }
    try {
      const answer = (await get('what-if', query)).what_if;
      if (mine !== asked) return;
      fill(summary, whatIfSentence(answer));
      const { cpu_request_cores: cores, memory_request_bytes: memory } = answer.otherwise;
      fill(both, h('p', { class: 'dim' }, `Evaluated now with ${number(cores, 2)} cores and ${bytes(memory)}, without the pod's own load.`), wide(bothTable(answer)));
    } catch (error) { if (mine === asked) { fill(summary); fill(both); note.report(error); } }
  };
  const form = h('form', { class: 'whatif', onsubmit: (event) => { event.preventDefault(); ask(); } },
    field('Cores ', sizes[0]), field('Memory ', sizes[1]), weights, h('button', { type: 'submit' }, 'Evaluate'));
  const begin = async () => {
    try {
      const { reward } = await get('policy');
      if (reward.preset !== 'weighted') return;
      given = reward.weights;
      fill(weights, Object.entries(given).map(([name, value]) => field(`${name.replace('_', ' ')} `, h('input', { name, type: 'number', min: '0', max: '100', step: 'any', value: String(value) }))));
    } catch (error) { note.report(error); }
  };
  return { element: h('div', null, note.element, h('p', { class: 'dim' }, 'Place the pod again with other requests or weights, or without some nodes. This changes nothing.'), form, summary, both), without, ask, begin };
}
