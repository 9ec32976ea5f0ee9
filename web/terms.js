// terms: the view of the terms that the page and the docs use, from docs/reference/glossary.md.
import { h, panel } from '/page/dom.js';
import { TERMS } from '/page/glossary.js';

export function glossary(term) {
  const rows = Object.keys(TERMS).sort().map((name) => h('tr', { class: name === term ? 'chosen' : null }, h('th', { scope: 'row' }, name), h('td', null, TERMS[name])));
  return {
    element: h('div', null, h('h1', null, 'Glossary'), panel('Terms', null, h('table', null, h('tbody', null, rows)))),
    begin() { const chosen = rows.find((row) => row.className); if (chosen) chosen.scrollIntoView({ block: 'center' }); }, end() {},
  };
}
