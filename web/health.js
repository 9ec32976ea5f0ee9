// health: shows the doctor's findings, problems first.
import { get } from '/page/api.js';
import { count, fill, h, link, panel, problem, tag, tiles, wide } from '/page/dom.js';
import { rests } from '/page/sleep.js';

const KINDS = { ok: 'good', lost: 'warn', failed: 'bad' };
const RANK = { failed: 0, lost: 1, ok: 2, absent: 3 };
const MOST = 300;
const resting = (node) => rests(node) && (!node.connected || node.power.state === 'asleep');
const worstFirst = (list) => [...list].sort((a, b) => RANK[a.state] - RANK[b.state]);

const row = (finding, where) => h('tr', null, where && h('td', null, where), h('td', null, tag(finding.state, KINDS[finding.state] || '')), h('td', null, finding.name), h('td', { class: 'prose' }, finding.detail), h('td', { class: 'prose' }, finding.fix));
const head = (where) => h('thead', null, h('tr', null, [where, 'State', 'Check', 'Finding', 'Fix'].filter(Boolean).map((text) => h('th', { scope: 'col' }, text))));

export function findings(list) {
  if (!list.length) return h('p', { class: 'dim' }, 'The agent reports no findings.');
  return wide(h('table', null, head(null), h('tbody', null, worstFirst(list).map((each) => row(each, null)))));
}

export function health() {
  const facts = tiles([['controller', 'Controller'], ['nodes', 'Nodes connected'], ['failed', 'Failed'], ['lost', 'Not available']]);
  const note = problem(), own = h('div'), fleet = h('div');
  const load = async () => {
    if (document.hidden) return;
    try {
      const doctor = await get('doctor');
      note.report(null);
      // Groups equal findings of several nodes in one row.
      const groups = new Map();
      for (const node of doctor.nodes) {
        const all = [...node.findings.filter((each) => each.state !== 'ok' && each.state !== 'absent')];
        if (!node.connected && !rests(node)) all.push({ name: 'connection', state: 'failed', detail: node.age_ms === null ? 'it has never sent a sample' : 'it is silent', fix: 'check that its agent runs and reaches the controller' });
        for (const finding of all) {
          const key = JSON.stringify([finding.state, finding.name, finding.detail, finding.fix]);
          if (!groups.has(key)) groups.set(key, { finding, nodes: [] });
          groups.get(key).nodes.push(node.name);
        }
      }
      const list = [...groups.values()].sort((a, b) => RANK[a.finding.state] - RANK[b.finding.state] || b.nodes.length - a.nodes.length);
      const of = (state) => list.filter((each) => each.finding.state === state).reduce((sum, each) => sum + each.nodes.length, 0);
      const asleep = doctor.nodes.filter(resting).length;
      facts.set('controller', doctor.controller.ok ? 'ok' : 'failed');
      facts.set('nodes', count(doctor.nodes.filter((each) => each.connected && !resting(each)).length), [`of ${count(doctor.nodes.length)}`, asleep > 0 && `, ${count(asleep)} asleep`]);
      facts.set('failed', count(of('failed')), 'problems found');
      facts.set('lost', count(of('lost')), 'some values are missing');
      fill(own, wide(h('table', null, head(null), h('tbody', null, worstFirst(doctor.controller.findings).map((each) => row(each, null))))));
      const names = (nodes) => [link('node', nodes[0]), nodes.length > 1 ? ` and ${count(nodes.length - 1)} more` : ''];
      fill(fleet, list.length ? wide(h('table', null, head('Nodes'), h('tbody', null, list.slice(0, MOST).map((each) => row(each.finding, names(each.nodes)))))) : h('p', { class: 'empty' }, doctor.nodes.length ? 'All agents report all their values.' : 'No agent has registered yet.'),
        list.length > MOST && h('p', { class: 'dim' }, `${list.length - MOST} more findings: wattle doctor`));
    } catch (error) { note.report(error); }
  };
  const timer = setInterval(load, 15_000);
  return { element: h('div', null, h('h1', null, 'Health'), note.element, facts.element, panel('Controller', null, own), panel('Agents', null, fleet)), begin: load, end() { clearInterval(timer); } };
}
