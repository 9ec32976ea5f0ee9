// app: selects the view, and handles theme, keyboard shortcuts and the token, if one is required.
import * as api from '/page/api.js';
import { choiceOfTheme } from '/page/theme.js';
import { fill, h } from '/page/dom.js';
import { fleet } from '/page/fleet.js';
import { node, pod, pods } from '/page/parts.js';
import { decision, decisions } from '/page/decisions.js';
import { learning, saving } from '/page/learning.js';
import { health } from '/page/health.js';
import { cost } from '/page/cost.js';
import { glossary } from '/page/terms.js';

// Maps a view to [label in the bar, factory]. A factory returns {element, end()}.
const VIEWS = {
  fleet: ['Fleet', fleet], pods: ['Pods', pods], cost: ['Cost', cost], decisions: ['Decisions', decisions], learning: ['Learning', learning], saving: ['Saving', saving],
  health: ['Health', health], node: [null, node], pod: [null, pod], decision: [null, decision], glossary: [null, glossary],
};
const ABOVE = { node: 'fleet', pod: 'pods', decision: 'decisions' };

function nowhere(name) {
  return {
    element: h('div', null, h('h1', null, 'View not found'), h('p', null, 'Unknown view: ', h('code', null, name), '.'), h('p', null, h('a', { href: '#/fleet' }, 'Back to the fleet'))),
    end() {},
  };
}

const main = document.getElementById('main');
const tabs = Object.entries(VIEWS).filter(([, [label]]) => label).map(([name, [label]]) => h('a', { href: `#/${name}`, id: `view-${name}` }, label));
fill(document.getElementById('views'), tabs);
let current = null;
let asking = false;

function show(moved) {
  const [, name, ...rest] = location.hash.split('?')[0].split('/');
  const view = name || 'fleet';
  if (current) current.end();
  tabs.forEach((tab) => (tab.id === `view-${ABOVE[view] || view}` ? tab.setAttribute('aria-current', 'page') : tab.removeAttribute('aria-current')));
  let argument = '';
  try { argument = decodeURIComponent(rest.join('/')); } catch { /* as if there were none */ }
  current = Object.hasOwn(VIEWS, view) ? VIEWS[view][1](argument) : nowhere(view);
  fill(main, current.element);
  const head = main.querySelector('h1');
  document.title = head ? `${head.textContent} · Wattle` : 'Wattle';
  if (moved) { main.focus({ preventScroll: true }); window.scrollTo(0, 0); }
  if (current.begin) current.begin();
}

function askToken(why) {
  if (asking) return;
  asking = true;
  api.disconnect();
  if (current) current.end();
  current = null;
  const out = document.getElementById('out');
  if (out) out.remove();
  showState('');
  document.title = 'Token required · Wattle';
  const input = h('input', { type: 'password', id: 'token', autocomplete: 'current-password', required: true });
  const wrong = h('p', { role: 'alert' }, why);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await api.givePass(input.value.trim());
      asking = false;
      signOut();
      api.connect();
      show(true);
    } catch (error) { fill(wrong, error.message); input.select(); }
  };
  fill(main, h('form', { class: 'panel token', onsubmit: submit }, h('h1', null, 'This controller requires a token'),
    h('p', { class: 'dim' }, 'Enter the token from the file that ', h('code', null, 'http.token_file'), ' names. The page stores it as a cookie for 30 days.'),
    h('label', { for: 'token' }, 'Token'), input, h('button', { type: 'submit' }, 'Look'), wrong));
  input.focus();
}

function signOut() {
  if (document.getElementById('out')) return;
  document.querySelector('.tools').append(h('button', { type: 'button', id: 'out', class: 'quiet', onclick: () => api.dropPass().then(() => askToken(''), (error) => main.prepend(h('p', { class: 'error', role: 'alert' }, `Sign-out failed. ${error.message}`))) }, 'Sign out'));
}

const STATES = { live: 'live', lost: 'connection lost', refused: 'not live', paused: 'paused' };
function showState(state) {
  const element = document.getElementById('link');
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  fill(element, STATES[state]);
}
api.onState((state) => {
  showState(state);
  // The controller now requires another token, or serves too many viewers.
  if (state === 'refused') api.passState().then((pass) => { if (!pass.open) askToken(''); }).catch(() => {});
});
api.onTokenNeeded(() => askToken(''));
choiceOfTheme(document.getElementById('theme'));
window.addEventListener('hashchange', (event) => {
  // Returning to a view restores its filter, sort and span.
  const left = new URL(event.oldURL).hash || '#/fleet', tab = tabs.find((each) => each.id === `view-${left.split('?')[0].slice(2)}`);
  if (tab) tab.href = left;
  if (!asking) show(true);
});
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const number = Number(event.key);
  if (number >= 1 && number <= tabs.length) location.hash = tabs[number - 1].getAttribute('href');
  if (event.key === '/') {
    const line = document.querySelector('input.filter');
    if (line) { event.preventDefault(); line.focus(); }
  }
  const above = tabs.find((tab) => tab.id === `view-${ABOVE[location.hash.split('/')[1]]}`);
  if (event.key === 'Escape' && above) location.hash = above.getAttribute('href');
});

function begin() {
  api.passState().then((pass) => {
    if (!pass.open) return askToken('');
    if (pass.token_needed) signOut();
    show(false);
    return api.connect();
  }, (error) => {
    fill(main, h('p', { class: 'error', role: 'alert' }, `${error.message} Retrying every 5 s.`));
    setTimeout(begin, 5000);
  });
}
begin();
