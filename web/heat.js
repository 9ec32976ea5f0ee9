// heat: draws a map of all nodes on one canvas, with one cell per node.
import { colour, dot } from '/page/chart.js';
import { ABSENT, fill, h, percent, say, watts, number } from '/page/dom.js';

const UNKNOWN = 65535;
const CELL = 9;  // bytes per node
export const MEASURES = {
  power: { label: 'watts', at: 0, scale: 10, format: watts },
  use: { label: 'use', at: 2, scale: 1e4, most: 1, format: (v) => percent(v) },
  pressure: { label: 'pressure', at: 4, scale: 1e4, most: 1, format: (v) => percent(v, 1) },
  latency: { label: 'latency', at: 6, scale: 10, format: (v) => (v === null ? ABSENT : `${number(v, 1)} ms`) },
};

function mix(from, to, share) {
  const part = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(part(from, i) + (part(to, i) - part(from, i)) * share)).join(' ')})`;
}

const NAMED = 24;  // nodes that are shown with their names
const HEAD = 18, NAMED_WIDTH = 150, NAMED_HEIGHT = 26;  // px
const STATES = {
  all: () => true, silent: (flag) => flag & 1, asleep: (flag) => flag & 16, masked: (flag) => flag & 6,
  measured: (flag, power) => power !== null && !(flag & 8), estimated: (flag, power) => power !== null && flag & 8,
};

export function heat(open) {
  const canvas = h('canvas', { class: 'heat', tabindex: '0', role: 'img', 'aria-label': 'No nodes yet' });
  const info = h('div', { class: 'legend' });
  const element = h('div', null, canvas, info);
  let names = [], groups = null, cells = null, measure = MEASURES.power, chosen = -1, columns = 1, side = [12, 12], top = 1, text = '', state = 'all';
  let places = [];  // of the nodes that are shown: [node, x, y]

  const view = () => new DataView(cells.buffer);
  const value = (i, of) => { const raw = view().getUint16(i * CELL + of.at, true); return raw === UNKNOWN ? null : raw / of.scale; };
  const flags = (i) => cells[i * CELL + 8];
  const total = () => (cells ? Math.min(names.length, cells.length / CELL) : 0);

  // Orders the nodes of the filter by group, and returns the heads of groups as [text, y] and the height.
  function arrange(width) {
    const shown = [];
    for (let i = 0; i < total(); ++i) if (names[i].toLowerCase().includes(text) && STATES[state](flags(i), value(i, MEASURES.power))) shown.push(i);
    const named = shown.length <= NAMED, size = Math.max(5, Math.min(30, Math.floor(Math.sqrt(width * 260 / Math.max(1, shown.length)))));
    side = named ? [NAMED_WIDTH, NAMED_HEIGHT] : [size, size];
    columns = Math.max(1, Math.floor(width / side[0]));
    const parts = new Map();
    shown.forEach((i) => { const group = groups ? groups[i] || 'no value' : ''; if (!parts.has(group)) parts.set(group, []); parts.get(group).push(i); });
    places = [];
    const heads = [];
    let y = 0;
    for (const group of [...parts.keys()].sort()) {
      if (groups) { heads.push([`${group}: ${parts.get(group).length}`, y + 13]); y += HEAD; }
      parts.get(group).forEach((i, at) => places.push([i, (at % columns) * side[0], y + Math.floor(at / columns) * side[1]]));
      y += Math.ceil(parts.get(group).length / columns) * side[1] + (groups ? 4 : 0);
    }
    return { heads, named, height: Math.max(y, 1) };
  }
  function draw() {
    const width = canvas.clientWidth || 600;
    if (!total()) return;
    const { heads, named, height } = arrange(width);
    if (chosen >= places.length) chosen = -1;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = `${height}px`;
    const g = canvas.getContext('2d');
    g.scale(ratio, ratio);
    g.font = '12px system-ui';
    const cold = colour('cold'), mid = colour('mid'), hot = colour('hot'), none = colour('none'), bad = colour('bad'), estimated = colour('estimated'), ink = colour('text'), focus = colour('accent');
    const palette = Array.from({ length: 33 }, (_, i) => (i <= 16 ? mix(cold, mid, i / 16) : mix(mid, hot, (i - 16) / 16)));
    top = measure.most || 0;
    if (!top) for (const [i] of places) top = Math.max(top, value(i, measure) || 0);
    g.fillStyle = colour('dim');
    for (const [head, y] of heads) g.fillText(head, 0, y);
    const [w, tall] = named ? [18, 18] : side, edge = named ? 0 : w > 10 ? 2 : w > 5 ? 1 : 0;
    places.forEach(([i, x, y], at) => {
      const now = value(i, measure), flag = flags(i), [wide, high] = [w - edge, tall - edge];
      if (now === null || flag & 1) {
        g.strokeStyle = none; g.lineWidth = 1;
        g.strokeRect(x + .5, y + .5, wide - 1, high - 1);
        if (flag & 1) { g.beginPath(); g.moveTo(x, y + high); g.lineTo(x + wide, y); g.stroke(); }
      } else {
        g.fillStyle = palette[Math.max(0, Math.min(32, Math.round(now / (top || 1) * 32)))];
        g.fillRect(x, y, wide, high);
        if (flag & 8 && measure === MEASURES.power) { g.fillStyle = estimated; g.fillRect(x, y + high * .7, wide, high * .3); }
      }
      if (named) { g.fillStyle = ink; g.fillText(short(g, `${names[i]} ${now === null ? '' : measure.format(now)}`, side[0] - 30), x + 24, y + 14); }
      if (flag & 6) { g.strokeStyle = bad; g.lineWidth = 1.5; g.strokeRect(x + .75, y + .75, wide - 1.5, high - 1.5); }
      if (at === chosen) { g.strokeStyle = focus; g.lineWidth = 2; g.strokeRect(x + 1, y + 1, side[0] - 2, side[1] - 2); }
    });
    canvas.setAttribute('aria-label', `${places.length} nodes by ${measure.label}, up to ${measure.format(top)}. Arrow keys move, Enter opens a node.`);
    announce();
  }
  // The beginning of a text that fits.
  function short(g, whole, most) {
    let part = whole;
    while (part.length > 4 && g.measureText(part).width > most) part = `${part.slice(0, -2)}…`;
    return part;
  }
  function describe(at) {
    const [i] = places[at], flag = flags(i);
    const states = [[1, 'silent'], [2, 'accepts no pods'], [4, 'at its start cap'], [16, 'asleep']].filter(([bit]) => flag & bit).map(([, each]) => each);
    return `${names[i]}: ${watts(value(i, MEASURES.power))}${flag & 8 ? ' est' : ''}, use ${MEASURES.use.format(value(i, MEASURES.use))}, pressure ${MEASURES.pressure.format(value(i, MEASURES.pressure))}, latency ${MEASURES.latency.format(value(i, MEASURES.latency))}${states.length ? `, ${states.join(', ')}` : ''}`;
  }
  function announce() {
    fill(info, chosen >= 0 ? h('b', null, describe(chosen)) : [
      h('span', null, measure.format(0), h('i', { class: 'scale' }), measure.format(top)), measure === MEASURES.power && h('span', null, dot('estimated'), 'below: estimated'),
      h('span', null, h('i', { class: 'dot hatch' }), 'silent, asleep or unknown'), h('span', null, h('i', { class: 'dot ring' }), 'accepts no pods now')]);
  }
  const under = (event) => places.findIndex(([, x, y]) => event.offsetX >= x && event.offsetX < x + side[0] && event.offsetY >= y && event.offsetY < y + side[1]);
  canvas.addEventListener('pointermove', (event) => { const at = under(event); if (at !== chosen) { chosen = at; draw(); } });
  canvas.addEventListener('pointerleave', () => { chosen = -1; draw(); });
  canvas.addEventListener('click', (event) => { const at = under(event); if (at >= 0) open(names[places[at][0]]); });
  canvas.addEventListener('keydown', (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (event.key === 'Enter' && chosen >= 0) return open(names[places[chosen][0]]);
    if (!(event.key in steps) || !places.length) return;
    event.preventDefault();
    chosen = Math.max(0, Math.min(places.length - 1, chosen < 0 ? 0 : chosen + steps[event.key]));
    draw();
    say(describe(chosen));
  });
  const resized = new ResizeObserver(() => draw());
  resized.observe(element);
  document.addEventListener('theme', draw);
  return {
    element,
    // `values`: the label of each node, or null for no groups.
    names(list, values) { names = list; groups = values; },
    give(bytes) { cells = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)); draw(); },
    by(key) { measure = MEASURES[key]; draw(); },
    only(filter, of) { text = filter.trim().toLowerCase(); state = of; draw(); },
    end() { resized.disconnect(); document.removeEventListener('theme', draw); },
  };
}
