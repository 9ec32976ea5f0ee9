// learning: shows what the network learns, what serves and since when, closed gates, and the saving.
import { get } from '/page/api.js';
import { change } from '/page/change.js';
import { timeline } from '/page/history.js';
import { ABSENT, cost, count, fill, h, joules, moment, number, panel, percent, problem, span, tag, tiles, watts, wide } from '/page/dom.js';

function every(seconds, update) {
  const note = problem();
  const again = async () => { if (document.hidden) return; try { await update(); note.report(null); } catch (error) { note.report(error); } };
  const timer = setInterval(again, seconds * 1000);
  return { note: note.element, begin: again, end: () => clearInterval(timer) };
}

const gate = (label, value, needed, open, why) => h('tr', null, h('td', null, label),
  h('td', null, needed > 0 ? [h('progress', { max: needed, value: Math.min(value, needed), 'aria-label': label }), ` ${count(value)} of ${count(needed)}`] : ABSENT), h('td', null, tag(open ? 'open' : 'closed', open ? 'good' : 'warn')), h('td', { class: 'prose' }, why || ''));

export function learning() {
  const who = h('div');
  const facts = tiles([['serves', 'Decided by'], ['steps', 'Gradient steps'], ['reward', 'Mean reward', 'reward'], ['loss', 'Loss', 'loss'], ['replay', 'Outcomes to learn from'], ['epsilon', 'Exploration']]);
  const curves = timeline(['reward', 'loss', 'decisions']);
  const gates = h('tbody'), models = h('div'), left = h('div');
  const loop = every(5, async () => {
    const [status, policy] = await Promise.all([get('status'), get('policy')]);
    fill(who, status.who_serves.length ? status.who_serves.map((each) => { const text = `${each.text[0].toUpperCase()}${each.text.slice(1)}.`; return each.serves ? h('p', { class: 'sentence' }, text) : h('p', { class: 'dim' }, text); }) : h('p', { class: 'sentence' }, `Policy ${status.policy} decides without a network.`));
    const chosen = status.withheld.find((each) => each.what === 'network');
    if (chosen) who.append(h('p', { class: 'sentence' }, `${chosen.why[0].toUpperCase()}${chosen.why.slice(1)}.${status.who_serves.some((each) => each.serves && each.who.includes('learned')) ? '' : ' What was learned here does not decide now.'}`));
    facts.set('serves', status.network_gated ? (status.who_serves.find((each) => each.serves) || { who: 'the plan' }).who.replace(/^the (policy|network) /, '') : status.who_serves.length ? 'the network' : status.policy, status.who_serves.length > 0 && !status.network_gated && (status.model_from || `network of step ${count(status.model_step)}`));
    facts.set('steps', count(status.gradient_steps), `${number(status.gradient_steps_per_s, 1)} per second`);
    facts.set('reward', number(status.mean_reward, 3), 'of the last 100 outcomes');
    facts.set('loss', number(status.loss, 4), 'of the last 100 steps');
    facts.set('replay', count(status.replay), `of ${count(status.outcomes)} so far`);
    facts.set('epsilon', percent(status.epsilon, 1), 'of decisions');
    const { regression, promotion } = policy;
    fill(gates, promotion.to !== null && gate(`To ${promotion.to}`, policy.experiment.decisions, 0, promotion.open, promotion.closed_by),
      gate('Regression monitor: rewards of control blocks', regression.control_rewards, regression.control_rewards_needed, regression.ready, regression.ready ? `alarm at ${number(regression.limit, 1)}, now ${number(regression.level, 1)}` : 'no verdict before that'));
    const off = status.withheld.filter((each) => each !== chosen);  // the panel above has the network's reason
    fill(left, off.length ? h('table', null, h('tbody', null, off.map((each) => h('tr', null, h('td', null, tag(each.what, 'warn')), h('td', { class: 'prose' }, each.why))))) : h('p', { class: 'dim' }, 'No feature is disabled.'));
    try {
      const answer = await get('models');
      fill(models, wide(h('table', null, h('thead', null, h('tr', null, ['Checkpoint', 'Step', 'Saved', 'Weights', 'State'].map((text, i) => h('th', { scope: 'col', class: i === 1 ? 'number' : null }, text)))),
        h('tbody', null, answer.models.slice(0, 20).map((m) => h('tr', null, h('td', null, m.name), h('td', { class: 'number' }, count(m.step)), h('td', null, moment(m.saved_wall_ns)), h('td', null, h('code', null, (m.network_sha256 || '').slice(0, 12))), h('td', null, m.active ? tag('in use', 'good') : null, m.fault ? tag(m.fault, 'bad') : null)))))));
    } catch (error) { fill(models, h('p', { class: 'dim' }, error.message)); }
  });
  return {
    element: h('div', null, h('h1', null, 'Learning'), loop.note, panel('In use', null, who), facts.element, h('div', { class: 'two' }, curves.panels.reward(curves.controls), curves.panels.loss(), curves.panels.decisions(), curves.events()),
      panel('Gates', null, wide(h('table', null, h('thead', null, h('tr', null, ['Gate', 'Progress', 'State', 'Why'].map((text) => h('th', { scope: 'col' }, text)))), gates))),
    panel('Disabled features', null, left), panel('Networks', null, models)),
    begin() { loop.begin(); curves.begin(); }, end() { loop.end(); curves.end(); },
  };
}

export function saving() {
  const summary = h('p', { class: 'sentence' });
  const now = tiles([['all', 'Saving now', 'modelled'], ['asleep', 'By nodes asleep', 'modelled'], ['placement', 'By placement', 'modelled']]);
  const facts = tiles([['saving', 'Saving, measured', 'measured'], ['treated', 'With advice', 'measured'], ['control', 'Without', 'measured'], ['blocks', 'Blocks'], ['now', 'Now']]);
  const changes = h('div'), changer = change(() => loop.begin());
  const loop = every(5, async () => {
    const policy = await get('policy');
    const { saving: s, block, modelled } = policy;
    const core = (value) => (value === null ? ABSENT : joules(value));
    const money = (arm) => [cost(s, `_${arm}_per_core_hour`), 'per core-hour'].filter(Boolean).join(' ');
    const known = modelled && modelled.saved_w !== null;
    now.element.hidden = !modelled;
    if (modelled) {
      now.set('all', watts(modelled.total_saved_w), known && !modelled.acting ? 'if Wattle acted' : '');
      now.set('asleep', watts(modelled.asleep_saved_w), modelled.asleep_text || 'no node sleeps');
      now.set('placement', watts(modelled.placement_saved_w), known ? 'by the choice of nodes' : modelled.text);
    }
    facts.element.hidden = !block && s.saving_ratio === null;
    facts.set('saving', percent(s.saving_ratio, 1), s.saving_ratio !== null && `between ${percent(s.saving_low, 1)} and ${percent(s.saving_high, 1)}`);
    facts.set('treated', core(s.treated_j_per_core_hour), money('treated'));
    facts.set('control', core(s.control_j_per_core_hour), money('control'));
    facts.set('blocks', `${count(s.blocks_treated)} + ${count(s.blocks_control)}`, `with and without advice; ${count(s.blocks_unused)} unused`);
    facts.set('now', block ? (block.treated ? 'with advice' : 'without') : ABSENT, block && `block ${count(block.number)}, ${span(block.left_s)} left`);
    const daily = modelled && [joules(modelled.energy_j_per_day), cost(modelled, '_per_day')].filter(Boolean).join(', ');
    const text = [modelled ? `In mode ${policy.mode}, ${modelled.asleep_text && !(known && modelled.acting) ? '' : known ? 'Wattle ' : 'the saving is '}${modelled.text}` : `Wattle models no saving in mode ${policy.mode}`, '. '];
    if (known) text[0] += `, over the last ${span(modelled.seconds)}. It decided on ${percent(modelled.advised_ratio)} of the pods. The saving amounts to ${daily} per day`;
    if (s.saving_ratio !== null) text.push(`Blocks with advice used ${percent(Math.abs(s.saving_ratio), 1)} ${s.saving_ratio < 0 ? 'more' : 'less'} energy per core-hour than blocks without (95% interval of the saving: ${percent(s.saving_low, 1)} to ${percent(s.saving_high, 1)}).`);
    else if (!block) text.push('Only mode canary measures a saving, by blocks with and without advice (wattle policy set --mode canary:50%).');
    else {
      const share = Number((/:(\d+)/.exec(policy.mode) || [])[1]) / 100;
      const blocks = Math.max((s.blocks_needed - s.blocks_treated) / share, (s.blocks_needed - s.blocks_control) / (1 - share));
      text.push(`No measured result yet: ${count(s.blocks_treated)} blocks with and ${count(s.blocks_control)} blocks without advice measured, ${count(s.blocks_needed)} of each needed.${blocks > 0 ? ` This takes about ${span(blocks * block.length_s)} more.` : ''}`);
    }
    fill(summary, text);
    fill(changes, wide(h('table', null, h('thead', null, h('tr', null, ['When', 'Who', 'What', 'Why'].map((each) => h('th', { scope: 'col' }, each)))),
      h('tbody', null, policy.changes.slice(0, 30).map((c) => h('tr', null, h('td', null, moment(c.at_s * 1e9)), h('td', null, c.who), h('td', { class: 'prose' }, c.what), h('td', null, c.why)))))));
  });
  return { element: h('div', null, h('h1', null, 'Saving'), loop.note, panel('Summary', null, summary), now.element, facts.element, panel('Changes', changer.button, changer.element, changes)), begin: loop.begin, end: loop.end };
}
