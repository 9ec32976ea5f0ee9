// chart: draws curves over time with uPlot, marks of events, and a legend with the values at the cursor. Dragging
// zooms, and a double click ends the zoom.
import uPlot from '/page/uplot.js';
import { fill, h, ABSENT } from '/page/dom.js';

const hue = (name) => name.startsWith('hsl');
export const colour = (name) => (hue(name) ? name : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
export function dot(name, dashed = false) {
  const element = h('i', { class: dashed ? 'dot dashed' : 'dot' });
  element.style[dashed ? 'borderColor' : 'background'] = hue(name) ? name : `var(--${name})`;
  return element;
}
const at = (seconds, options) => new Date(seconds * 1000).toLocaleTimeString('en-GB', options);
const day = (seconds) => new Date(seconds * 1000).toLocaleDateString('en-GB', { day: '2-digit', month: 'short' });

// Creates a chart. `lines`: [{label, colour, area, dash}]; give(times in s, lists of values, marks) draws; `end` frees
// it. `zoomed(from, to)` loads another span after a drag, in s, and zoomed() ends the zoom; without it the chart zooms
// itself.
export function chart(label, lines, format, zoomed = null) {
  const place = h('div', { class: 'chart' });
  const legend = h('div', { class: 'legend' });
  const element = h('div', { role: 'group', 'aria-label': label }, legend, place);
  let plot = null, data = null, marks = [], window = null;

  // Of the last known value, so that a pause of the newest point does not empty the legend.
  const last = () => { for (let i = data[0].length - 1; i >= 0; --i) if (data.some((list, n) => n && list[i] !== null)) return i; return -1; };
  const showAt = (index) => {
    const i = index === null || index === undefined ? (data ? last() : -1) : index;
    const near = i >= 0 && plot && plot.cursor.idx !== null && marks.filter((mark) => Math.abs(plot.valToPos(mark.at, 'x') - plot.cursor.left) < 6);
    fill(legend, i >= 0 && h('span', null, data[0].length > 1 && data[0][data[0].length - 1] - data[0][0] > 86_400 ? `${day(data[0][i])} ` : '', at(data[0][i])), lines.map((line, n) =>
      h('span', null, dot(line.colour, line.dash), line.label, ' ', h('b', null, i >= 0 && data[n + 1][i] !== null ? format(data[n + 1][i]) : ABSENT))),
    near && near.map((mark) => h('b', null, `${at(mark.at)} ${mark.text}`)));
  };
  const drawMarks = (u) => {
    u.ctx.save();
    u.ctx.strokeStyle = colour('dim');
    u.ctx.setLineDash([4, 4]);
    for (const mark of marks) {
      const x = Math.round(u.valToPos(mark.at, 'x', true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      u.ctx.beginPath(); u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); u.ctx.stroke();
    }
    u.ctx.restore();
  };
  const select = (u) => {
    if (u.select.width < 5) return;
    const [from, to] = [u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x')];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (zoomed) return zoomed(from, to);
    window = [from, to];
    u.setData(data);
  };
  const make = () => {
    if (plot) plot.destroy();
    const axis = { stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 }, font: '11px system-ui' };
    plot = new uPlot({
      width: Math.max(200, place.clientWidth), height: 180, legend: { show: false }, cursor: { y: false, drag: { x: true, y: false, setScale: false } },
      series: [{}, ...lines.map((line) => ({ stroke: colour(line.colour), width: 1.5, dash: line.dash ? [6, 4] : undefined, fill: line.area ? `${colour(line.colour)}22` : undefined, points: { show: false }, spanGaps: false }))],
      axes: [{ ...axis, size: 30, values: (_, splits) => { const step = splits.length > 1 ? splits[1] - splits[0] : 1; return splits.map((s) => (step >= 43_200 ? day(s) : at(s, { hour: '2-digit', minute: '2-digit', second: step < 60 ? '2-digit' : undefined }))); } },
        { ...axis, size: 68, values: (_, splits) => splits.map(format) }],
      scales: { x: { range: (_, low, high) => window || (high > low ? [low, high] : [(low ?? 0) - 30, (high ?? 0) + 30]) }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1] } },
      hooks: { setCursor: [(u) => showAt(u.cursor.idx)], draw: [drawMarks], setSelect: [select] },
    }, data, place);
    plot.over.addEventListener('dblclick', () => { if (zoomed) zoomed(); else { window = null; plot.setData(data); } });
  };
  const resized = new ResizeObserver(() => { if (plot) plot.setSize({ width: Math.max(200, place.clientWidth), height: 180 }); });
  resized.observe(place);
  const themed = () => { if (data) make(); };
  document.addEventListener('theme', themed);
  showAt(null);
  return {
    element,
    give(times, values, events = []) {
      data = [times, ...lines.map((_, i) => values[i] || times.map(() => null))];
      marks = events;
      if (plot) plot.setData(data); else if (place.isConnected) make();
      showAt(plot && plot.cursor.idx);
    },
    // Changes the meaning of a line, for example from measured to estimated.
    paint(index, name) {
      if (lines[index].colour === name) return;
      lines[index].colour = name;
      themed();
    },
    end() { resized.disconnect(); document.removeEventListener('theme', themed); if (plot) plot.destroy(); },
  };
}

// The times of the document `history`.
export function timesOf(history) {
  const end = history.end_wall_ns / 1e9, [first] = Object.values(history.values);
  return first.map((_, i) => end - (first.length - 1 - i) * history.step_s);
}
