// table: list that the controller sorts, filters and pages; requests and draws only the visible rows.
import { get } from '/page/api.js';
import { count, fill, h, say } from '/page/dom.js';
import { place, placed } from '/page/place.js';

const ROW = 32;
const PAGE = 50;

// `columns`: [{key, label, width, number, sort, cell(item)}]; `href(item)`: link of a row; `none`: text if empty.
export function table({ label, what, columns, sort, order, query = () => ({}), href, none, onAnswer = () => {} }) {
  const pages = new Map();  // page number -> items of the current edition of the query
  let edition = 0, matched = 0, total = 0, active = -1, asked = new Map(), frame = 0;
  let by = columns.some((column) => column.sort && column.sort === placed('sort')) ? placed('sort') : sort;
  let direction = ['asc', 'desc'].includes(placed('order')) ? placed('order') : order;

  const heads = columns.map((column) => h('div', { class: `cell ${column.number ? 'number' : ''}`, role: 'columnheader' },
    column.sort ? h('button', { type: 'button', onclick: () => sortBy(column) }, column.label) : column.label));
  const top = h('div', { class: 'top', role: 'row' }, heads);
  const body = h('div', { role: 'rowgroup' });
  const grid = h('div', { class: 'grid', role: 'grid', tabindex: '0', 'aria-label': label, onscroll: () => later(), onkeydown: (event) => key(event) },
    h('div', { role: 'rowgroup' }, top), body);
  grid.style.setProperty('--columns', columns.map((c) => c.width).join(' '));

  const markSort = () => columns.forEach((column, i) => {
    const mine = column.sort === by;
    if (column.sort) heads[i].setAttribute('aria-sort', mine ? (direction === 'asc' ? 'ascending' : 'descending') : 'none');
    if (column.sort) fill(heads[i].firstChild, column.label, mine ? (direction === 'asc' ? ' ↑' : ' ↓') : '');
  });
  function sortBy(column) {
    direction = by === column.sort ? (direction === 'asc' ? 'desc' : 'asc') : (column.number ? 'desc' : 'asc');
    by = column.sort;
    place({ sort: by === sort ? '' : by, order: by === sort && direction === order ? '' : direction });
    markSort();
    reload();
  }
  const item = (index) => (pages.get(Math.floor(index / PAGE)) || [])[index % PAGE];

  async function ask(page) {
    const mine = edition;
    if (asked.get(page) === mine) return;
    asked.set(page, mine);
    try {
      const answer = await get(what, { ...query(), sort: by, order: direction, offset: page * PAGE, limit: PAGE });
      if (mine !== edition) return;
      pages.set(page, answer[what]);
      total = answer.total;
      if (matched !== answer.matched) { matched = answer.matched; grid.setAttribute('aria-rowcount', String(matched + 1)); }
      onAnswer(answer);
      draw();
    } catch (error) {
      if (mine !== edition) return;
      asked.delete(page);
      onAnswer(null, error);
    }
  }
  const range = () => {
    const first = Math.max(0, Math.floor((grid.scrollTop - ROW) / ROW) - 4);
    return [first, Math.min(matched - 1, first + Math.ceil(grid.clientHeight / ROW) + 8)];
  };
  function draw() {
    body.style.height = matched ? `${matched * ROW}px` : '';  // set before range(), which depends on it
    const [first, last] = range();
    const rows = [];
    for (let index = first; index <= last; ++index) {
      const of = item(index);
      const row = h('div', { class: `row ${index === active ? 'active' : ''}`, role: 'row', id: `${what}-${index}`, 'aria-rowindex': String(index + 2), 'aria-selected': String(index === active), onclick: () => of && open(of) },
        columns.map((column) => h('div', { class: `cell ${column.number ? 'number' : ''}`, role: 'gridcell' }, of ? column.cell(of) : '…')));
      row.style.top = `${ROW + index * ROW}px`;
      rows.push(row);
    }
    fill(body, rows.length ? rows : h('div', { role: 'row' }, h('div', { class: 'empty', role: 'gridcell' }, total ? 'No matches.' : none)));
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last) / PAGE); ++page) if (!pages.has(page)) ask(page);
  }
  const later = () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); }); };
  const open = (of) => { location.hash = href(of); };
  function key(event) {
    if (event.target !== grid) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -matched, End: matched };
    if (event.key === 'Enter' && item(active)) return open(item(active));
    if (!(event.key in steps) || matched === 0) return;
    event.preventDefault();
    active = Math.max(0, Math.min(matched - 1, (active < 0 ? -1 : active) + steps[event.key]));
    const at = active * ROW;
    if (at < grid.scrollTop) grid.scrollTop = at;
    if (at + 2 * ROW > grid.scrollTop + grid.clientHeight) grid.scrollTop = at + 2 * ROW - grid.clientHeight;
    draw();
    grid.setAttribute('aria-activedescendant', `${what}-${active}`);
  }
  // Starts a new query from the top.
  function reload() {
    ++edition; pages.clear(); asked.clear(); active = -1; grid.scrollTop = 0;
    grid.removeAttribute('aria-activedescendant');
    ask(0).then(() => say(`${count(matched)} rows`));
  }
  // Repeats the query; visible rows stay until the answer arrives.
  function refresh() {
    const [first, last] = range();
    ++edition; asked.clear();
    const wanted = new Set([Math.floor(first / PAGE), Math.floor(Math.max(first, last) / PAGE)]);
    for (const page of pages.keys()) if (!wanted.has(page)) pages.delete(page);
    wanted.forEach(ask);
  }
  markSort();
  return { element: grid, reload, refresh };
}

// Filter input that waits until the user stops typing. Its text is in the address.
export function filter(label, changed) {
  let timer = 0;
  const input = h('input', { type: 'search', class: 'filter', placeholder: label, 'aria-label': label, value: placed('filter'), oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (input.isConnected) { place({ filter: input.value }); changed(); } }, 200);
  } });
  return input;
}
