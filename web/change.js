// change: dialogue in which an operator changes the mode, the policy, the limit of waiting or that of lateness. The
// operator types the token for each change; it is not stored.
import { get, makeChange, passState } from '/page/api.js';
import { fill, h } from '/page/dom.js';

const MODES = {
  off: 'Wattle makes no decisions. Pods are placed as without Wattle.',
  shadow: 'Wattle records its decisions but does not apply them. Pods are placed as without Wattle.',
  canary: 'Wattle applies its decisions in randomly chosen blocks of time. In the other blocks, pods are placed as without Wattle.',
  live: 'Wattle applies all its decisions.',
};
const CHOICES = ['off', 'shadow', 'canary:10%', 'canary:25%', 'canary:50%', 'live'];
const rank = (mode) => Object.keys(MODES).indexOf(mode.split(':')[0]);
const DEFAULT = 'default';
const limitOf = (budget) => { if (!budget.set) return DEFAULT; return `${Number((100 * budget.limit).toFixed(4))}%`; };

// Request body: only the values that change.
function asked(policy, mode, chosen, limits) {
  const what = {};
  if (mode !== policy.mode) what.mode = mode;
  if (chosen !== policy.policy) what.policy = chosen;
  for (const [name, limit] of Object.entries(limits)) if (limit && limit !== limitOf(policy[name])) what[name] = limit;
  return what;
}

export function inWords(policy, { mode, policy: chosen, cpu_wait: limit, late }) {
  const parts = [];
  if (mode) parts.push(`The mode changes from ${policy.mode} to ${mode}. ${MODES[mode.split(':')[0]]}`);
  if (chosen) parts.push(`The policy changes from ${policy.policy} to ${chosen}.`);
  if (limit === DEFAULT) parts.push('Pods may wait for CPU as long as under the default scheduler.');
  else if (limit) parts.push(`Pods may wait for CPU for at most ${limit} of their time.`);
  if (late === DEFAULT) parts.push('Pods may exceed their soft latency limit as long as under the default scheduler.');
  else if (late) parts.push(`Pods may exceed their soft latency limit for at most ${late} of their time.`);
  return parts.join(' ') || 'No changes yet.';
}

const line = (label, input) => h('label', null, label, input);

// Calls `changed` after a change takes effect.
export function change(changed) {
  const outcome = h('p', { class: 'dim', role: 'status' });
  const dialog = h('dialog', { 'aria-label': 'Change the settings', onclose: () => fill(dialog) });
  const button = h('button', { type: 'button', id: 'change', onclick: () => open() }, 'Change');
  const title = () => h('h2', null, 'Change the settings');
  const closer = (text) => h('button', { type: 'button', onclick: () => dialog.close() }, text);

  function off() {
    fill(dialog, title(), h('p', null, 'Changes from this page are disabled. Set ', h('code', null, 'http.operator_token_file'),
      ' of the controller to a file with an operator\'s token, or use the command line:'), h('p', null, h('code', null, 'wattle policy set --mode MODE --why TEXT')), closer('Close'));
  }

  function ask(known) {
    const choices = CHOICES.includes(known.mode) ? CHOICES : [...CHOICES, known.mode];
    const mode = h('select', null, choices.map((each) => h('option', { value: each, selected: each === known.mode }, each)));
    const policy = h('select', null, known.policies.map((each) => h('option', { value: each, selected: each === known.policy }, each)));
    const share = (budget) => h('input', { value: limitOf(budget), autocomplete: 'off', spellcheck: 'false' });
    const limit = share(known.cpu_wait), late = share(known.late);
    const why = h('input', { required: true, maxlength: '500', autocomplete: 'off' });
    const token = h('input', { type: 'password', required: true, autocomplete: 'off' });
    const force = h('input', { type: 'checkbox' });
    const words = h('p', { class: 'sentence', role: 'status' }), gate = h('p', { class: 'dim' }), wrong = h('p', { class: 'error', hidden: true, role: 'alert' });
    const past = h('label', { class: 'check' }, force, 'Skip the gate. The reason is recorded.');
    const submit = h('button', { type: 'submit' }, 'Apply');
    const what = () => asked(known, mode.value, policy.value, { cpu_wait: limit.value.trim(), late: late.value.trim() });
    const look = () => {
      fill(words, inWords(known, what()));
      submit.disabled = !Object.keys(what()).length;
      // Same rule as in the controller: promotion moves one mode at a time, and only through an open gate.
      const { to, closed_by: whyNot } = known.promotion, further = rank(mode.value) > Math.max(rank(known.mode), rank('shadow'));
      const skips = further && rank(mode.value) !== rank(to), closed = further && (whyNot || skips);
      const reason = skips ? `${to} is the next mode${whyNot ? `, and its gate is closed: ${whyNot}` : ''}` : whyNot;
      fill(gate, closed && `The gate to ${mode.value} is closed: ${reason}.`);
      past.hidden = !closed;
      if (!closed) force.checked = false;
    };
    const send = async (event) => {
      event.preventDefault();
      submit.disabled = true;
      wrong.hidden = true;
      try {
        const now = await makeChange(token.value.trim(), { ...what(), why: why.value.trim(), force: force.checked });
        // The list may have newer changes by others, or changes that follow from this one.
        const before = known.changes[0]?.id ?? 0, mine = now.changes.find((each) => each.id > before && each.who.startsWith('page/') && each.why === why.value.trim());
        const kept = now.unwritten ? ` The change is in force but not saved, and a restart of the controller would lose it (${now.unwritten.error}).` : '';
        fill(outcome, !mine ? 'No change: these settings were already in force.' : `Changed: ${mine.what}.${kept}`);
        dialog.close();
        changed();
      } catch (error) {
        fill(wrong, error.message);
        wrong.hidden = false;
        submit.disabled = false;
        if (error.status === 401) token.select();
      }
    };
    fill(dialog, h('form', { class: 'change', oninput: look, onsubmit: send }, title(), line('Mode', mode), line('Policy', policy), line('Limit of waiting for CPU: share of pods\' time, or default', limit),
      line('Limit of lateness: share of pods\' time above the soft latency limit, or default', late),
      gate, past, line('Why', why), line('Operator\'s token', token), words, wrong, h('div', { class: 'head' }, submit, closer('Cancel'))));
    look();
  }

  async function open() {
    fill(outcome);
    try {
      const [pass, policy] = await Promise.all([passState(), get('policy')]);
      if (pass.changes) ask(policy); else off();
    } catch (error) { fill(dialog, title(), h('p', { role: 'alert' }, error.message), closer('Close')); }
    if (dialog.isConnected && !dialog.open) dialog.showModal();
  }
  return { element: h('div', null, outcome, dialog), button };
}
