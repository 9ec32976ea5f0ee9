// history: charts of the fleet, a node or a pod over any span, from the controller's history, with marks of changes.
import { get } from '/page/api.js';
import { chart, timesOf } from '/page/chart.js';
import { choice, fill, h, moment, number, panel, percent, problem, watts, wide } from '/page/dom.js';
import { place, placed } from '/page/place.js';

const SPANS = [['1h', '1 h'], ['24h', '24 h'], ['7d', '7 d']];
const share = (v) => percent(v, 1);
const whole = (v) => number(v, v !== null && v < 10 && !Number.isInteger(v) ? 1 : 0);
// `area` fills below the line.
const power = (name, label, colour, area = true) => ({ name, label, colour, area });
export const CHARTS = {
  power: { title: 'Power over time', format: watts, lines: [power('measured_w', 'measured', 'measured'), power('estimated_w', 'estimated', 'estimated'), power('default_w', 'all, with the default scheduler (modelled)', 'modelled', false)] },
  waiting: { title: 'Waiting', format: share, lines: [{ name: 'cpu_wait_ratio', label: 'pods\' time waiting for CPU', colour: 'waiting' }, { name: 'late_ratio', label: 'pods\' time above soft latency', colour: 'latency' }] },
  decisions: { title: 'Decisions per minute', format: whole, lines: [{ name: 'decisions_per_min', label: 'decisions', colour: 'decisions' }, { name: 'successful_per_min', label: 'successful: the pod was placed', colour: 'decisions', dash: true }] },
  pods: { title: 'Pods per node', format: whole, lines: [{ name: 'pods', label: 'pods', colour: 'pods' }, { name: 'nodes_with_pods', label: 'nodes with pods', colour: 'pods', dash: true }] },
  reward: { title: 'Reward', format: (v) => number(v, 3), lines: [{ name: 'reward', label: 'mean of the last 100 outcomes', colour: 'reward' }] },
  loss: { title: 'Loss', format: (v) => number(v, 4), lines: [{ name: 'loss', label: 'mean of the last 100 steps', colour: 'loss' }] },
};

// Charts of `keys` over one span. `panels` has a function for each key that makes its panel; the caller places them.
// `query`: of a node or a pod, whose `charts` may receive newer values by give() than the controller's history has.
export function timeline(keys, charted = CHARTS, query = {}, spans = SPANS) {
  const note = problem();
  let span = placed('span', '1h'), until = placed('until'), asked = 0, timer = 0, ended = false, names = '', shown = null;
  const zoomed = (from, to) => {
    if (from === undefined) return pick('1h', '');
    return pick(`${Math.max(30, Math.round(to - from))}s`, String(Math.floor(to)));
  };
  const make = (key, lines) => chart(charted[key].title, lines.map((line) => ({ ...line })), charted[key].format, zoomed);
  const charts = Object.fromEntries(keys.map((key) => [key, make(key, charted[key].lines)]));
  const places = Object.fromEntries(keys.map((key) => [key, h('div', null, charts[key].element)]));
  const input = h('input', { class: 'span', 'aria-label': 'Span, for example 3h', autocomplete: 'off', onchange: () => pick(input.value.trim(), until) });
  const now = h('button', { type: 'button', onclick: () => pick(span, '') }, 'Up to now');
  const controls = h('span', { class: 'controls' }), events = h('div');
  const show = () => {
    input.value = span;
    fill(controls, choice('Span', spans, until ? '' : span, (value) => pick(value, '')), input, until && now);
  };
  function pick(value, end) {
    [span, until] = [value, end];
    place({ span: span === '1h' ? '' : span, until });
    show();
    load();
  }
  // A line per node where the fleet is small, in pale colours, because the strong ones have a meaning.
  function givePods(history, times, marks) {
    const byNode = Object.entries(history.pods_by_node).filter(([, list]) => list.some((v) => v !== null));
    const key = byNode.map(([name]) => name).join(' ');
    if (key !== names) {
      names = key;
      charts.pods.end();
      charts.pods = make('pods', byNode.length ? byNode.map(([name], i) => ({ label: name, colour: `hsl(${Math.round(i * 137.5) % 360} 30% ${i % 2 ? 60 : 45}%)`, dash: i % 2 === 1 })) : CHARTS.pods.lines);
      fill(places.pods, charts.pods.element);
    }
    charts.pods.give(times, byNode.length ? byNode.map(([, list]) => list) : CHARTS.pods.lines.map((line) => history.values[line.name]), marks);
  }
  // A node or a pod has no history for its first seconds.
  const isNew = (error) => error.status === 404 && Object.keys(query).length > 0;
  function draw() {
    for (const key of keys.filter((each) => each !== 'pods')) charts[key].give(shown.times, charted[key].lines.map((line) => shown.values[line.name]), shown.marks);
  }
  async function load() {
    clearTimeout(timer);
    if (document.hidden) { timer = setTimeout(load, 5000); return; }
    const mine = ++asked;
    let step = 10;
    try {
      const { history } = await get('history', { ...query, span, until });
      if (mine !== asked || ended) return;
      note.report(null);
      step = history.step_s;
      const times = timesOf(history), marks = history.marks.map((mark) => ({ ...mark, at: mark.at_wall_ns / 1e9 }));
      shown = { times, values: history.values, marks };
      if (history.pods_by_node && charts.pods) givePods(history, times, marks);
      draw();
      fill(events, marks.length ? wide(h('table', null, h('tbody', null, marks.slice(-20).reverse().map((mark) => h('tr', null, h('td', null, moment(mark.at_wall_ns)), h('td', { class: 'prose' }, mark.text))))))
        : h('p', { class: 'dim' }, 'No changes of mode, policy or network in this span.'));
    } catch (error) { if (mine === asked && !ended) note.report(isNew(error) ? null : error); }
    if (mine === asked && !ended && !until) timer = setTimeout(load, Math.min(60, Math.max(10, step)) * 1000);
  }
  show();
  return {
    controls,
    panels: Object.fromEntries(keys.map((key) => [key, (tools) => panel(charted[key].title, tools, key === keys[0] && note.element, places[key])])),
    events: () => panel('Changes', null, events),
    begin: load,
    // Appends the current values by the names of lines, until the history has them.
    give(now) {
      if (until || ended) return;
      shown ||= { times: [], values: {}, marks: [] };
      for (const { name } of keys.flatMap((key) => charted[key].lines)) (shown.values[name] ||= []).push(now[name] ?? null);
      shown.times.push(Date.now() / 1000);
      draw();
    },
    paint: (key, colour) => charts[key].paint(0, colour),
    end() { ended = true; clearTimeout(timer); keys.forEach((key) => charts[key].end()); },
  };
}
