// heat: draws a map of all nodes on one canvas, with one cell per node.
import { colour } from '/page/chart.js';
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

export function heat(open) {
  const canvas = h('canvas', { class: 'heat', tabindex: '0', role: 'img', 'aria-label': 'No nodes yet' });
  const info = h('div', { class: 'legend' });
  const element = h('div', null, canvas, info);
  let names = [], cells = null, measure = MEASURES.power, chosen = -1, columns = 1, size = 12, palette = [], top = 1;

  const view = () => new DataView(cells.buffer);
  const value = (i, of) => { const raw = view().getUint16(i * CELL + of.at, true); return raw === UNKNOWN ? null : raw / of.scale; };
  const flags = (i) => cells[i * CELL + 8];
  const total = () => (cells ? Math.min(names.length, cells.length / CELL) : 0);

  function draw() {
    const width = canvas.clientWidth || 600;
    const n = total();
    if (!n) return;
    size = Math.max(5, Math.min(30, Math.floor(Math.sqrt(width * 260 / n))));
    columns = Math.max(1, Math.floor(width / size));
    const height = Math.ceil(n / columns) * size;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = `${height}px`;
    const g = canvas.getContext('2d');
    g.scale(ratio, ratio);
    const cold = colour('cold'), mid = colour('mid'), hot = colour('hot'), none = colour('none'), bad = colour('bad');
    palette = Array.from({ length: 33 }, (_, i) => (i <= 16 ? mix(cold, mid, i / 16) : mix(mid, hot, (i - 16) / 16)));
    top = measure.most || 0;
    if (!top) for (let i = 0; i < n; ++i) top = Math.max(top, value(i, measure) || 0);
    const edge = size > 10 ? 2 : size > 5 ? 1 : 0;
    for (let i = 0; i < n; ++i) {
      const x = (i % columns) * size, y = Math.floor(i / columns) * size, side = size - edge;
      const of = value(i, measure), flag = flags(i);
      if (of === null || flag & 1) {
        g.strokeStyle = none; g.lineWidth = 1;
        g.strokeRect(x + .5, y + .5, side - 1, side - 1);
        if (flag & 1) { g.beginPath(); g.moveTo(x, y + side); g.lineTo(x + side, y); g.stroke(); }
      } else {
        g.fillStyle = palette[Math.max(0, Math.min(32, Math.round(of / (top || 1) * 32)))];
        g.fillRect(x, y, side, side);
      }
      if (flag & 6) { g.strokeStyle = bad; g.lineWidth = 1.5; g.strokeRect(x + .75, y + .75, side - 1.5, side - 1.5); }
      if (i === chosen) { g.strokeStyle = colour('focus'); g.lineWidth = 2; g.strokeRect(x - .5, y - .5, size, size); }
    }
    canvas.setAttribute('aria-label', `${n} nodes by ${measure.label}, up to ${measure.format(top)}. Arrow keys move, Enter opens a node.`);
    announce();
  }
  function describe(i) {
    const flag = flags(i);
    const states = [[1, 'silent'], [2, 'accepts no pods'], [4, 'at its start cap'], [16, 'asleep']].filter(([bit]) => flag & bit).map(([, text]) => text);
    return `${names[i]}: ${watts(value(i, MEASURES.power))}${flag & 8 ? ' est' : ''}, use ${MEASURES.use.format(value(i, MEASURES.use))}, pressure ${MEASURES.pressure.format(value(i, MEASURES.pressure))}, latency ${MEASURES.latency.format(value(i, MEASURES.latency))}${states.length ? `, ${states.join(', ')}` : ''}`;
  }
  function announce() {
    fill(info, chosen >= 0 && chosen < total() ? h('b', null, describe(chosen)) : [
      h('span', null, measure.format(0), h('i', { class: 'scale' }), measure.format(top)),
      h('span', null, h('i', { class: 'dot hatch' }), 'silent, asleep or unknown'), h('span', null, h('i', { class: 'dot ring' }), 'accepts no pods now')]);
  }
  const under = (event) => {
    const x = Math.floor(event.offsetX / size), i = Math.floor(event.offsetY / size) * columns + x;
    return x < columns && i < total() ? i : -1;
  };
  canvas.addEventListener('pointermove', (event) => { const i = under(event); if (i !== chosen) { chosen = i; draw(); } });
  canvas.addEventListener('pointerleave', () => { chosen = -1; draw(); });
  canvas.addEventListener('click', (event) => { const i = under(event); if (i >= 0) open(names[i]); });
  canvas.addEventListener('keydown', (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (event.key === 'Enter' && chosen >= 0) return open(names[chosen]);
    if (!(event.key in steps) || !total()) return;
    event.preventDefault();
    chosen = Math.max(0, Math.min(total() - 1, chosen < 0 ? 0 : chosen + steps[event.key]));
    draw();
    say(describe(chosen));
  });
  const resized = new ResizeObserver(() => draw());
  resized.observe(element);
  document.addEventListener('theme', draw);
  return {
    element,
    names(list) { names = list; },
    give(text) { cells = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); draw(); },
    by(key) { measure = MEASURES[key]; draw(); },
    end() { resized.disconnect(); document.removeEventListener('theme', draw); },
  };
}
