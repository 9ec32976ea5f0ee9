// chart: draws curves over time with uPlot, and a legend with the values at the cursor.
import uPlot from '/page/uplot.js';
import { fill, h, ABSENT } from '/page/dom.js';

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Creates a chart. `lines`: [{label, colour, format, area}]; give(times in s, lists of values) draws; `end` frees it.
export function chart(label, lines, format) {
  const place = h('div', { class: 'chart' });
  const legend = h('div', { class: 'legend' });
  const element = h('div', { role: 'group', 'aria-label': label }, legend, place);
  let plot = null;
  let data = null;

  const showAt = (index) => {
    const at = index === null || index === undefined ? (data ? data[0].length - 1 : -1) : index;
    fill(legend, at >= 0 && h('span', null, new Date(data[0][at] * 1000).toLocaleTimeString('en-GB')), lines.map((line, i) =>
      h('span', null, h('i', { class: `dot ${line.colour}` }), line.label, ' ', h('b', null, at >= 0 && data[i + 1][at] !== null ? format(data[i + 1][at]) : ABSENT))));
  };
  const make = () => {
    if (plot) plot.destroy();
    const axis = { stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 }, font: '11px system-ui' };
    plot = new uPlot({
      width: Math.max(200, place.clientWidth), height: 180, legend: { show: false }, cursor: { y: false, drag: { x: true, y: false } },
      series: [{}, ...lines.map((line) => ({ stroke: colour(line.colour), width: 1.5, fill: line.area ? `${colour(line.colour)}22` : undefined, points: { show: false }, spanGaps: false }))],
      axes: [{ ...axis, values: (_, splits) => splits.map((s) => new Date(s * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: splits.length > 1 && splits[1] - splits[0] < 60 ? '2-digit' : undefined })) },
        { ...axis, size: 68, values: (_, splits) => splits.map(format) }],
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : 1] } },
      hooks: { setCursor: [(u) => showAt(u.cursor.idx)] },
    }, data, place);
  };
  const resized = new ResizeObserver(() => { if (plot) plot.setSize({ width: Math.max(200, place.clientWidth), height: 180 }); });
  resized.observe(place);
  const themed = () => { if (data) make(); };
  document.addEventListener('theme', themed);
  showAt(null);
  return {
    element,
    give(times, values) {
      data = [times, ...values];
      if (plot) plot.setData(data); else if (place.isConnected) make();
      showAt(plot && plot.cursor.idx);
    },
    end() { resized.disconnect(); document.removeEventListener('theme', themed); if (plot) plot.destroy(); },
  };
}

// Converts the document `history` to times and value lists in the order of `names`.
export function past(history, names) {
  const end = history.end_wall_ns / 1e9;
  const lists = names.map((name) => history.values[name]);
  const times = lists[0].map((_, i) => end - (lists[0].length - 1 - i) * history.step_s);
  return [times, lists];
}
