// dom: creates elements and formats values. Every text becomes a text node, so text from a cluster is never markup.
import { TERMS } from '/page/glossary.js';

// h("a", {href, class, onclick}, children...): a child that is null or false is left out.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  fill(element, ...children);
  return element;
}

export function fill(element, ...children) {
  const all = children.flat(3).filter((child) => child !== null && child !== undefined && child !== false && child !== '');
  if (!isTermed(element)) {
    element.replaceChildren(...all.map((child) => (child instanceof Node ? child : document.createTextNode(shown(String(child))))));
    return element;
  }
  // Links keep the focus while their text stays the same.
  if (all.length && all.every((child) => !(child instanceof Node)) && element.textContent === shown(all.join(''))) return element;
  element.replaceChildren(...all.flatMap((child) => (child instanceof Node ? [child] : termed(shown(String(child))))));
  return element;
}

// Elements with the page's own texts, whose terms link to the glossary.
const TERMED = new Set(['DT', 'TH', 'H2', 'SMALL']);
const isTermed = (element) => TERMED.has(element.tagName) || ['sentence', 'dim', 'prose'].some((each) => element.classList.contains(each));
const TERM = new RegExp(`\\b(${Object.keys(TERMS).join('|')})(?=s?\\b)`, 'i');
function termed(text) {
  const found = TERM.exec(text);
  if (!found) return [document.createTextNode(text)];
  const before = text.slice(0, found.index), after = text.slice(found.index + found[0].length);
  const term = document.createElement('a');
  term.className = 'term';
  term.href = `#/glossary/${encodeURIComponent(found[1].toLowerCase())}`;
  term.textContent = found[0];
  return [before && document.createTextNode(before), term, ...(after ? termed(after) : [])].filter(Boolean);
}

// Invisible and direction-changing characters, which are replaced by a visible escape.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u00ad]/g;
export const shown = (text) => text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const ABSENT = '–';
// Rounds ties like the command line. Created once, because creating a format takes longer than drawing a row.
const FORMATS = [0, 1, 2, 3, 4].map((digits) => new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: 'halfEven' }));
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

// Removes the minus sign of a value that rounds to zero.
export const number = (value, digits = 0) => (known(value) ? FORMATS[digits].format(value).replace(/^-(?=[0.]+$)/, '') : ABSENT);
// An id beyond 53 bits is a text (api.js).
export const count = (value) => (typeof value === 'string' ? value : number(value));
// Units and digits equal those of the command line (cli/human.cpp), so that both show the same text.
export function percent(ratio, digits) {
  if (!known(ratio)) return ABSENT;
  const value = ratio * 100;
  return `${number(value, digits ?? (value !== 0 && Math.abs(value) < 9.95 ? 1 : 0))}%`;
}
export const watts = (value) => (known(value) ? `${number(value, 1)} W` : ABSENT);
function scaled(value, step, units) {
  let unit = 0;
  for (; unit + 1 < units.length && Math.abs(value) >= step - (unit === 0 ? 0.5 : 0.05); ++unit) value /= step;
  return units[unit](number(value, unit === 0 ? 0 : 1));
}
export const joules = (value) => (known(value) ? scaled(value, 1000, [(n) => `${n} J`, (n) => `${n} kJ`, (n) => `${n} MJ`, (n) => `${n} GJ`]) : ABSENT);
// Money and CO2 of joules by the controller's tariff; empty without one.
export function cost(of, ending = '') {
  const money = of[`cost${ending}`], grams = of[`co2_g${ending}`];
  const least = (value, smallest, text) => (value !== 0 && Math.abs(value) < smallest / 2 ? `<${smallest}` : text);
  return [known(money) && `${least(money, 0.0001, number(money, money !== 0 && Math.abs(money) < 1 ? 4 : 2))} ${of.currency}`,
    known(grams) && (Math.abs(grams) < 1000 ? `${least(grams, 0.01, number(grams, grams !== 0 && Math.abs(grams) < 10 ? 2 : 0))} g CO2` : `${number(grams / 1000, 1)} kg CO2`)].filter(Boolean).join(', ');
}
export const bytes = (value) => (known(value) ? scaled(value, 1024, [(n) => `${n} B`, (n) => `${n} KiB`, (n) => `${n} MiB`, (n) => `${n} GiB`, (n) => `${n} TiB`, (n) => `${n} PiB`]) : ABSENT);
export function span(seconds) {
  if (!known(seconds)) return ABSENT;
  if (seconds < 90) return `${number(seconds)} s`;
  if (seconds < 5400) return `${number(seconds / 60)} min`;
  if (seconds < 172_800) return `${number(seconds / 3600, 1)} h`;
  return `${number(seconds / 86_400, 1)} d`;
}
export const clock = (wallNs) => (known(wallNs) ? new Date(wallNs / 1e6).toLocaleTimeString('en-GB') : ABSENT);
export const moment = (wallNs) => (known(wallNs) ? new Date(wallNs / 1e6).toLocaleString('en-GB') : ABSENT);

export const link = (view, name, text = name) => h('a', { href: `#/${view}/${encodeURIComponent(name)}` }, text);
export const tag = (text, kind = '') => h('span', { class: `tag ${kind}` }, text);

// Tiles that are created once and then updated. `parts`: [key, label, colour, whether it is wide]
export function tiles(parts) {
  const values = {};
  const list = h('dl', { class: 'tiles' }, parts.map(([key, label, colour, lead]) => {
    const value = h('span', key === 'mode' ? { class: 'prose' } : null, ABSENT), note = h('small');
    values[key] = [value, note];
    return h('div', { class: 'tile', 'data-lead': lead }, h('dt', null, colour && h('i', { class: `dot ${colour}` }), label), h('dd', null, value, note));
  }));
  return { element: list, set: (key, text, note) => { fill(values[key][0], text); fill(values[key][1], note); } };
}

export function panel(title, tools, ...children) {
  return h('section', { class: 'panel', 'aria-label': title }, h('div', { class: 'head' }, h('h2', null, title), h('span', { class: 'grow' }), tools), children);
}

// Error message. An equal message after a retry is not repeated, because a screen reader would read it again.
export function problem() {
  const element = h('div', { role: 'alert' });
  let said = '';
  const report = (error) => { const text = error ? error.message : ''; if (text !== said) fill(element, text && h('p', { class: 'error' }, text)); said = text; };
  return { element, report };
}

// A group of buttons of which one is chosen.
export function choice(label, options, chosen, pick) {
  const buttons = options.map(([value, text]) => h('button', {
    type: 'button', 'aria-pressed': String(value === chosen),
    onclick: () => { buttons.forEach((each, i) => each.setAttribute('aria-pressed', String(options[i][0] === value))); pick(value); },
  }, text));
  return h('div', { class: 'group', role: 'group', 'aria-label': label }, buttons);
}

// Wrapper of a table that may be wider than the screen: scrolls the table instead of the page.
export const wide = (...children) => h('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'A table that can be scrolled' }, children);

export function say(text) { fill(document.getElementById('said'), text); }
