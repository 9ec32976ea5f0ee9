// Tests the page of a controller with a fleet: known and unknown values, each mode, each what-if answer, nodes and pods
// in every state.
import { addressed, addressedNot, altered, check, clean, enter, finish, note, open, reads, url, visitor, world, unaltered } from './visitor.mjs';

const { page } = await visitor();
const link = '#link';
const operators = 'another-word-for-who-may-change';
// Drags over the last part of a chart, which zooms.
const drag = async (title) => {
  const over = page.locator(`section[aria-label="${title}"] .u-over`);
  await over.scrollIntoViewIfNeeded();
  const plot = await over.boundingBox();
  await page.mouse.move(plot.x + plot.width * .6, plot.y + 60);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * .9, plot.y + 60, { steps: 5 });
  await page.mouse.up();
};
const press = (label, text) => page.click(`[role=group][aria-label="${label}"] button:text-is("${text}")`);

await page.goto(`${url}/`);
await enter(page);
await world('drive');
await reads('fleet: power by meters and by estimates', page, /Measured [\d.,]+ W \d+ nodes with measured power Estimated .* W \d+ nodes, estimated from their use/);
await reads('fleet: waiting of pods and its budget', page, /Waiting for CPU (–|[\d.]+%) of pods' time; the budget is 1\.0%/);
await reads('fleet: a budget that is not in force has no limit', page, /Above soft latency (–|[\d.]+%) of pods' time; no budget/);
await reads('fleet: the saving is not known yet, and for how long', page, /Saving – not known yet: needs .* more with pods that Wattle decided on/);
const money = String.raw`[\d.,]+ [kMG]?J, [\d.]+ EUR, [\d.,]+ k?g CO2`;
await reads('fleet: power of idle nodes, and the saving of sleep', page, new RegExp(String.raw`Idle power [\d.,]+ W [\d.]+% of the power, ${money} per day Sleep would save [\d.,]+ W ${money} per day, if the \d+ nodes? without pods stayed empty and slept at 3 W each \(projection\)`));
await reads('fleet: what of a node\'s power is idle power', page, /Node Power \S* ?Idle Active Use .*sim-\d+ [\d.]+ W est [\d.]+ W [\d.]+ W [\d.]+% /, '.grid');
const exact = await page.evaluate(async () => {
  const [{ parsed }, { count }] = await Promise.all([import('/page/api.js'), import('/page/dom.js')]);
  const read = parsed('{"epoch":1732166400000000001,"decision_id":9007199254740993,"id":17,"wall_ns":1732166400000000000,"text":"\\"id\\":9007199254740993"}');
  return [count(read.epoch), read.decision_id, read.id, typeof read.wall_ns, read.text];
});
check('a 64-bit ID is shown with all digits', JSON.stringify(exact) === JSON.stringify(['1732166400000000001', '9007199254740993', 17, 'number', '"id":9007199254740993']), JSON.stringify(exact));
await reads('a viewer with a token can sign out', page, 'Sign out', '.tools');

// Saving before the first figure
await open(page, 'saving');
await reads('shadow: not known yet, and for how long', page, /In mode shadow, the saving is not known yet: needs .* more with pods that Wattle decided on\./);

// Fleet
await open(page, 'fleet');
for (const [measure, unit] of [['use', /10 nodes by use/], ['pressure', /nodes by pressure/], ['latency', /nodes by latency/], ['watts', /nodes by watts/]]) {
  await press('Measure', measure);
  const says = await page.waitForFunction((source) => new RegExp(source).test(document.querySelector('canvas.heat').getAttribute('aria-label')), unit.source).then(() => true, () => false);
  check(`the map names the measure ${measure}`, says, await page.getAttribute('canvas.heat', 'aria-label'));
}
await press('Span', '24 h');
await page.fill('input[aria-label="Span, for example 3h"]', 'often');
await page.keyboard.press('Enter');
await reads('an invalid span is reported', page, /argument span: invalid value 'often'/, '.error');
await press('Span', '1 h');
await reads('the history marks the start of the controller', page, /Changes .* the controller starts in mode /);
await reads('pods per node, one line each', page, /Pods per node .*sim-00 [\d.]+/);
await drag('Power over time');
await reads('a drag zooms, and the span then ends in the past', page, 'Up to now');
await addressed('the address has the zoom', page, /span=\d+s&until=\d+/);
await reads('a span without changes', page, /Changes (No changes of mode, policy or network in this span\.|.* starts in mode)/);
await page.evaluate(() => { location.hash = `#/fleet?span=1s&until=${Math.floor(Date.now() / 1000) - 2}`; });
await reads('a span without changes says so', page, 'No changes of mode, policy or network in this span.');
await page.click('button:text-is("Up to now")');
await press('Span', '1 h');
await addressedNot('the default span is not in the address', page, /span=/);
// The canvas has no text in the document, so record what it draws.
const drawn = async (act) => {
  await page.evaluate(() => {
    window.drawn = [];
    const fillText = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function record(text, ...rest) { if (this.canvas.className === 'heat') window.drawn.push(text); return fillText.call(this, text, ...rest); };
  });
  await act();
};
const drew = (claim, pattern) => page.waitForFunction((source) => window.drawn.some((text) => new RegExp(source).test(text)), pattern.source).then(() => check(claim, true), async () => check(claim, false, await page.evaluate(() => window.drawn)));
await drawn(() => press('Group', 'zone'));
await drew('the map has the heads of its groups', /^no value: 10$/);
await drew('the map of a small fleet has the names of its nodes', /^sim-03 [\d.]+ W$/);
note('no value');
await press('Group', 'ungrouped');
await page.fill('input[aria-label="Group by the label"]', 'team');
await page.keyboard.press('Enter');
await addressed('the address has the group', page, /group=team/);
await press('Group', 'ungrouped');
await page.focus('canvas.heat');
await page.keyboard.press('ArrowRight');
await reads('the map describes a node', page, /: [\d.]+ W.*, use [\d.]+%, pressure .*, latency /, '.legend');
await page.fill('input.filter', 'sim-03');
const map = (nodes) => page.waitForFunction((wanted) => document.querySelector('canvas.heat').getAttribute('aria-label').startsWith(`${wanted} nodes by`), nodes).then(() => true, () => false);
check('the map follows the filter', await map(1), await page.getAttribute('canvas.heat', 'aria-label'));
await page.reload();
await page.waitForSelector('.grid .row a');
check('a reload restores the filter, in the list and in the map', (await page.inputValue('input.filter')) === 'sim-03' && await map(1) && (await page.locator('.grid .row').count()) === 1);
await page.fill('input.filter', 'no such node');
await reads('no node matches the filter', page, 'No matches.', '.grid');
await page.fill('input.filter', '');
for (const state of ['silent', 'accept no pods', 'estimated', 'measured', 'all']) await press('State', state);
await page.waitForSelector('.grid .row a');
await page.click('.grid .top button:has-text("Use")');
await page.click('.grid .top button:has-text("Use")');
for (const theme of ['light', 'dark', 'auto']) {
  await page.click('#theme');
  await reads(`theme ${theme}`, page, `Theme: ${theme}`, '#theme');
}

// Decisions of each kind
const advised = await world('ask', 'went', null, '250m', 'advised');
await world('ask', 'elsewhere', null, '250m', 'other');
const nowhere = await world('ask', 'too-big', null, '1000');
await world('ask', 'one', 1);
await world('run', 'unasked');
await world('run', 'short', null, 3);
await open(page, 'decisions');
await reads('decisions: the node of a placement', page, /shop-went .*shop-one|shop-one .*shop-went/);
await reads('decisions: a placement on another node', page, 'elsewhere', 'tbody');
await reads('decisions: no feasible node', page, 'none', 'tbody');
await open(page, `decision/${advised.id}`);
await reads('a decision, as a sentence', page, / was best for default\/shop-went: it should add .* W there, .* than on .*The pod was placed there\./);
await reads('a decision and its outcome', page, /Reward -?[\d.]+ \S+, on sim-.*Outcome .*energy/);
await open(page, 'decision/elsewhere');
await reads('a decision with a placement on another node', page, /The pod was placed on sim-/);
await open(page, `decision/${nowhere.id}`);
await reads('a decision without a feasible node', page, /No node was feasible for default\/shop-too-big\. Wattle gave no advice\. Excluded: /);
await reads('a decision with nothing to compare', page, 'fewer than two nodes to compare');
await reads('a decision without an outcome yet', page, 'The outcome is available after the pod has run for a while.');
let explored = null;
for (let i = 0; i < 30 && !explored; ++i) {
  const tried = await world('ask', `try-${i}`);
  if (tried.explored) explored = tried;
}
if (explored) {
  await open(page, `decision/${explored.id}`);
  await reads('an exploring decision', page, `Wattle advised ${explored.advice} instead, for exploration.`);
}
check('a decision was explored', explored !== null);
await world('ask', 'tu\u202ern');
await open(page, 'decisions');
await reads('characters that change text direction are shown escaped', page, 'shop-tu\\u202ern');
const slow = await world('ask', 'slow', null, '250m', null, { 'latency-hard-ms': '0.001' });
await open(page, `decision/${slow.id}`);
await reads('reasons of masked nodes', page, /Excluded: sim-.* and sim-.* and \d+ more \(.*latency/);

// A what-if of each kind
const sentence = '.sentence[role=status]';
const ask = async (fields) => {
  for (const [name, value] of Object.entries(fields)) await page.fill(`form.whatif input[name="${name}"]`, value);
  await page.click('form.whatif button');
};
await open(page, `decision/${advised.id}`);
await page.waitForSelector('form.whatif input[name=energy]');
await ask({ cpu: '1' });
await reads('a what-if: other cores', page, /^Wattle would then advise sim-\S+/, sentence);
await reads('a what-if: with the original request', page, /Evaluated now with 1\.00 cores and .*without the pod.s own load\./);
await ask({ cpu: '1000' });
await reads('a what-if: no feasible node', page, /^Wattle would then advise no node: /, sentence);
await ask({ cpu: 'much' });
await reads('a what-if: an invalid amount', page, /argument cpu: 'much' is not a quantity/, '.error');
await ask({ cpu: '' });
await reads('a what-if: no change', page, /^$/, sentence);
await page.locator('tr.chosen input[type=checkbox]').first().check();
await reads('a what-if: without the best node', page, /^Wattle would then advise sim-\S+/, sentence);
await ask({ energy: '0', latency: '50' });
await reads('a what-if: other weights', page, /^Wattle would then advise sim-/, sentence);

// Pods
await open(page, 'pods');
await page.fill('input.filter', 'unasked');
await reads('pods: one of them', page, /unasked sim-00/, '.grid');
await open(page, 'pod/unasked');
await reads('a pod without an ask', page, /Why it runs there The pod was placed without a request to Wattle.*placed without a request/);
await open(page, 'pod/went');
await reads('a pod and its decision', page, new RegExp(`Pod default/shop-went Why it runs there .* was best for .*decision ${advised.id}`));
await reads('the energy cost of a pod', page, /Energy [\d.]+ k?J <?[\d.]+ EUR, <?[\d.]+ g CO2, since it was first seen/);
await world('ended', 'short');
await open(page, 'pod/short');
await reads('a pod that has ended', page, /No agent reports this pod now\. It has ended, or its node is silent\..*no recent decision is about it/);

// Node states
await world('crowd', 'sim-05', 85);
await open(page, 'node/sim-05');
await reads('a node: power, resources and workloads', page, /Power [\d.]+ W (est )?source: .*Idle [\d.]+ W [\d.]+% of its power Active [\d.]+ W more than .*Cores in use .*requested .*Energy [\d.]+ [kM]?J <?[\d.]+ EUR, <?[\d.]+ g CO2, since the controller knows it.*Power curve .*Workloads Workload Kind .*crowd-\d+ pod/);
await reads('a node at its start cap', page, /^Node sim-05 start cap/);
// Charts of a node and of a pod, like those of the fleet
for (const [what, of, other] of [['node/sim-05', 'Watts', 'Latency'], ['pod/crowd-0', 'Watts', 'Cores']]) {
  await open(page, what);
  await reads(`${what}: the marks of changes`, page, /Changes .* the controller starts in mode /);
  await page.hover(`section[aria-label="${other}"] .u-over`);
  await reads(`${what}: values at the cursor`, page, /\d\d:\d\d:\d\d (power|median to users|cores)/, `section[aria-label="${other}"] .legend`);
  await press('Span', '24 h');
  await addressed(`${what}: the address has the span`, page, /span=24h/);
  await drag(of);
  await reads(`${what}: a drag zooms, and the span then ends in the past`, page, 'Up to now');
  await addressed(`${what}: the address has the zoom`, page, /span=\d+s&until=\d+/);
  await page.dblclick(`section[aria-label="${other}"] .u-over`);
  await addressedNot(`${what}: a double click ends it`, page, /\?/);
}
await open(page, 'node/this-machine');
await reads('this machine', page, /Node this-machine.*Agent State Check Finding Fix/);
await open(page, 'fleet');
await reads('the sources of the newest decisions', page, /Decided by [\w-]+ .*(candidate|trial|block|measured)/);
await press('State', 'accept no pods');
await reads('the list of cordoned nodes', page, /sim-05.*start cap/, '.grid');
await page.focus('canvas.heat');
await page.keyboard.press('ArrowRight');
await reads('the map has the reason of a cordoned node', page, /sim-05: .*at its start cap/, '.legend');
await world('silence');

// Cost
await open(page, 'cost');
await reads('cost: a sentence', page, /Since .* all nodes have used .*J; .* used most of the energy of workloads: .* in .* core-hours\./);
for (const by of ['owner', 'node', 'label', 'namespace']) {
  await press('By', by);
  if (by === 'label') {
    await reads('cost by label: the key is asked for', page, 'Enter the key of a label.');
    await page.fill('input[aria-label="Key of the label"]', 'a=b');
    await page.keyboard.press('Enter');
    await reads('cost by label: no key', page, /argument label: is not the key of a label/, '.error');
  }
}
await press('Since', '1 d');
await press('By', 'label');
await addressed('the address has span, division and label', page, /since=24h/, /by=label/, /label=a%3Db/);
await page.reload();
await reads('a reload restores them', page, /argument label: is not the key of a label/, '.error');
check('and shows them', (await page.inputValue('input[aria-label="Key of the label"]')) === 'a=b' && (await page.getAttribute('[role=group][aria-label=Since] button:text-is("1 d")', 'aria-pressed')) === 'true', page.url());
await press('By', 'namespace');
await press('Since', '30 d');
await reads('cost again', page, /Used by .*namespace Measured Estimated Cost, CO2 Share .*default [\d.]+ k?J [\d.]+ k?J <?[\d.]+ EUR, <?[\d.]+ g CO2 [\d.]+% /);

// Learning
await open(page, 'learning');
await reads('learning: each candidate with its own reason', page, /In use The (network|policy) .*is in use/);
await reads('learning: the network in use, progress, gates', page, /Decided by .*Gradient steps [\d,]+ .*Gates .*To canary:10% .*(open|closed).*Regression monitor/);

// Silent for a while
await open(page, 'node/this-machine');
await reads('a silent node says so', page, /^Node this-machine silent/);
await open(page, 'health');
await reads('health: the silent node, and the fix', page, /this-machine failed connection it is silent check that its agent runs/);
await open(page, 'fleet');
await reads('fleet: an alarm', page, /1 of 10 nodes is silent and gets no pods from Wattle\. Details/, '.alarms');
await page.locator('.alarm', { hasText: 'is silent' }).locator('a').click();
await reads('the alarm links to its details', page, /^Health .*this-machine failed connection/);
await open(page, 'fleet');
await press('State', 'silent');
await reads('the list of silent nodes', page, /this-machine.*silent/, '.grid');
await page.focus('canvas.heat');
await page.keyboard.press('ArrowLeft');
for (let i = 0; i < 12; ++i) await page.keyboard.press('ArrowRight');
await reads('the map has the silent node', page, /this-machine: .*silent/, '.legend');

// Saving: modelled, then each mode
await open(page, 'saving');
await reads('shadow: the modelled saving', page, /Wattle would (save|use) [\d.]+ W (more )?\(.*%\) \[.*\], modelled; pods would wait .*, over the last .*\. It decided on .* of the pods\. The saving amounts to -?[\d.]+ [kM]?J, .* per day\. /);
await altered(page, 'policy', ({ modelled }) => { modelled.text = 'would save 64 W (16%) [6, 30], modelled, calibrated by 31 canary blocks; pods would wait 0.3% instead of 0.2%'; });
await open(page, 'fleet');
await reads('fleet: the modelled saving', page, /Saving -?[\d.,]+ W would (save|use) [\d.]+ W (more )?\(.*%\) \[.*\], modelled; pods would wait .*; -?[\d.]+ [kM]?J, .* CO2 per day/);
await reads('shadow: the default scheduler decides, so that there is no other curve', page, /estimated [\d.,]+ W all, with the default scheduler \(modelled\) – /, '.legend');
await open(page, 'saving');
await reads('shadow: corrected by canaries', page, /Wattle would save 64 W \(16%\) \[6, 30\], modelled, calibrated by 31 canary blocks; .*/);
await unaltered(page);
await open(page, 'fleet');
await reads('fleet: the alarm is still there', page, 'is silent', '.alarms');
await world('speak');
await reads('fleet: an alarm that has ended', page, /^((?!silent).)*$/, '.alarms');
await open(page, 'saving');
await world('rest');
// Changes by an operator on the page
const inDialog = (name) => page.locator('dialog label', { hasText: name === 'Mode' ? /^Mode/ : name }).locator('input, select');
const changeTo = async (mode, limit, why, word) => {
  if (mode) await inDialog('Mode').selectOption(mode);
  if (limit) await inDialog('Limit of waiting').fill(limit);
  await inDialog('Why').fill(why);
  await inDialog('token').fill(word);
};
const closed = () => page.waitForFunction(() => !document.querySelector('dialog[open]'));
await page.focus('#change');
await page.keyboard.press('Enter');
await reads('the dialogue without changes', page, /Mode .*No changes yet\. Apply Cancel/, 'dialog');
check('the dialogue without changes cannot be sent', await page.isDisabled('dialog button[type=submit]'));
await page.keyboard.press('3');
check('keys for views have no effect in the dialogue', (await page.evaluate(() => location.hash)) === '#/saving');
await inDialog('Limit of waiting').fill('default');
for (const [mode, words] of [['off', /The mode changes from shadow to off\. Wattle makes no decisions\. /], ['live', /The mode changes from shadow to live\. Wattle applies all its decisions\./],
  ['canary:25%', /The mode changes from shadow to canary:25%\. Wattle applies its decisions in randomly chosen blocks of time\. /]]) {
  await inDialog('Mode').selectOption(mode);
  await reads(`in words: ${mode}`, page, words, 'dialog');
}
await inDialog('Policy').selectOption('node-order');
await reads('in words: the policy', page, /The policy changes from \S+ to node-order\./, 'dialog');
await inDialog('Policy').selectOption(await inDialog('Policy').locator('option[selected]').getAttribute('value'));
await reads('the gate is closed, and why', page, /The gate to canary:25% is closed: .*\. Skip the gate\. The reason is recorded\./, 'dialog');
await changeTo('canary:10%', '', 'to see it', 'a-word-for-this-test-alone');
await page.keyboard.press('Enter');
await reads('the token of a viewer is refused', page, 'wrong token (use the token of http.operator_token_file)', 'dialog [role=alert]');
await inDialog('token').fill('no header can hold this: \u20ac');
await page.keyboard.press('Enter');
await reads('a token that no header can contain is refused', page, 'wrong token (use the token of http.operator_token_file)', 'dialog [role=alert]');
await inDialog('token').fill(operators);
await page.keyboard.press('Enter');
await reads('a closed gate is reported as in the command line', page, /mode canary:10%: its gate is closed: .*wattle policy get/, 'dialog [role=alert]');
await changeTo('', 'much', 'to see it', operators);
await page.keyboard.press('Enter');
await reads('an invalid limit is reported', page, /much/, 'dialog [role=alert]');
await page.keyboard.press('Escape');
await closed();
check('no change was made so far', (await world('mode')) === 'shadow');
await page.click('#change');
check('the token is not stored', (await inDialog('token').inputValue()) === '');
await changeTo('', '40%', 'pods may wait', operators);
await reads('in words: a limit', page, 'Pods may wait for CPU for at most 40% of their time.', 'dialog');
await page.click('dialog button[type=submit]');
await reads('a limit is changed', page, 'Changed: cpu_wait default -> 40%.');
check('the command line shows the changed limit', (await world('limit')) === 0.4);
await page.click('#change');
await changeTo('', 'default', 'as it was', operators);
await reads('in words: the default limit', page, 'Pods may wait for CPU as long as under the default scheduler.', 'dialog');
// The controller's answer with an additional field for a full disk (full_disk_test.py fills one)
await page.route('**/page/change', async (route) => {
  const answer = await route.fetch();
  await route.fulfill({ response: answer, json: { ...await answer.json(), unwritten: { error: 'database or disk is full' } } });
});
await page.click('dialog button[type=submit]');
await reads('a change that is not on disk says so', page, /Changed: .* The change is in force but not saved, and a restart of the controller would lose it \(database or disk is full\)\./);
await page.unroute('**/page/change');
await reads('the unsaved change is reverted', page, /Changes .*as it was/);
await page.click('#change');
await inDialog('Limit of lateness').fill('3%');
await changeTo('', '', 'users may wait', operators);
await reads('in words: a limit of lateness', page, 'Pods may exceed their soft latency limit for at most 3% of their time.', 'dialog');
await page.click('dialog button[type=submit]');
await reads('the author of the change', page, /Changes .*users may wait/);
check('that limit is changed, by the command line too', (await world('late')) === 0.03);
await page.click('#change');
await inDialog('Limit of lateness').fill('default');
await reads('in words: the default limit of lateness', page, 'Pods may exceed their soft latency limit as long as under the default scheduler.', 'dialog');
await page.keyboard.press('Escape');
await closed();
await page.click('#change');
await changeTo('canary:50%', '', 'to see it', operators);
await inDialog('Skip the gate').check();
await page.click('dialog button[type=submit]');
await reads('past the gate, with a reason', page, /Changed: mode shadow -> canary:50%, forced despite: /);
check('the mode is changed, by the command line too', (await world('mode')) === 'canary:50%');
await world('resume');
const audit = await world('changes');
check('the change has author, origin and reason', audit.some((each) => each.who === 'page/127.0.0.1' && each.why === 'to see it' && each.what.startsWith('mode shadow -> canary:50%, forced despite: ')), audit);
await reads('canary: no figure yet, and its requirements', page, /No measured result yet: \d+ blocks with and \d+ blocks without advice measured, \d+ of each needed\./);
await reads('canary: the current block', page, /Now (with advice|without) block \d+, .* left/);
await reads('the changes with author and reason', page, /Changes .*page\/127\.0\.0\.1.*to see it/);
await reads('canary: the measured saving', page, /Blocks with advice used .* (more|less) energy per core-hour than blocks without \(95% interval/);
await reads('canary: the cost of a core-hour', page, /With advice [\d.]+ [kM]?J <?[\d.]+ EUR, <?[\d.]+ k?g CO2 per core-hour Without [\d.]+ [kM]?J <?[\d.]+ EUR, <?[\d.]+ k?g CO2 per core-hour/);
await open(page, 'learning');
await reads('canary: the regression monitor', page, /Regression monitor: rewards of control blocks .* (no verdict before that|alarm at)/);
await open(page, 'saving');
await reads('canary: a block with advice', page, /Now with advice block \d+/);
await reads('canary: a block without advice', page, /Now without block \d+/);
await world('policy', 'set', '--mode', 'live', '--force', '--why', 'to see that too');
await open(page, 'fleet');
await reads('live', page, /Mode live /);
await reads('live: a second line, the power with the default scheduler', page, /all, with the default scheduler \(modelled\) [\d.,]+ W/, 'section[aria-label="Power over time"] .legend');
await open(page, 'saving');
await reads('live: the saving', page, /In mode live, (the saving is not known yet: needs .* more with pods that Wattle decided on|Wattle (saves|uses) [\d.]+ W .*modelled.*; pods wait )/);
await reads('live: the change', page, /to see that too/);
await page.click('#change');
await changeTo('shadow', '', 'to be safe', operators);
await reads('in words: shadow', page, /The mode changes from live to shadow\. Wattle records its decisions but does not apply them\. /, 'dialog');
await world('policy', 'set', '--mode', 'shadow', '--why', 'another was faster');
await page.click('dialog button[type=submit]');
await reads('another operator changed the mode meanwhile', page, 'No change: these settings were already in force.');
await world('policy', 'set', '--mode', 'off', '--why', 'the end');
await reads('off', page, /Wattle models no saving in mode off\. /);
await open(page, 'fleet');
await reads('fleet: off', page, /Mode off /);

// An API server that reports the state of nodes
await world('follow');
await reads('live again', page, /^live$/, link);
await open(page, 'node/sim-00');
await reads('a node that is not ready', page, /^Node sim-00 .*not ready/);
await open(page, 'node/sim-01');
await reads('a node that is cordoned', page, /^Node sim-01 .*cordoned/);
await open(page, 'fleet');
await reads('the fleet shows the cordoned node', page, /not ready.*cordoned|cordoned.*not ready/, '.grid');
await world('delete', 'sim-02');
await open(page, 'node/sim-02');
await reads('a node that is deleted', page, /^Node sim-02 .*deleted/);

// Modified controller answers for states that no fleet of this size has
await altered(page, 'explain', ({ decision }) => { decision.candidates = Array.from({ length: 301 }, (_, i) => ({ ...decision.candidates[0], node: `n-${i}` })); });
await open(page, `decision/${nowhere.id}`);
await reads('a decision among more nodes than are shown', page, `1 more: wattle explain ${nowhere.id}`);
await altered(page, 'node', ({ node }) => {
  Object.assign(node, { energy_source: 'none', power_w: null, findings: [], curve: { source: 'type', samples: 0, idle_w: 10, max_w: 20 } });
  node.workloads = Array.from({ length: 203 }, (_, i) => ({ uid: `w-${i}`, kind: 'unit' }));
});
await open(page, 'node/sim-03');
await reads('a node without a source of energy', page, /no source of energy.*from its type, not fitted yet.*The agent reports no findings\./);
await reads('a node with more workloads than are shown', page, '3 more with less power: wattle node');
await unaltered(page);
await altered(page, 'node', ({ node }) => { node.workloads = []; });
await open(page, 'node/sim-00');
await reads('a node without workloads', page, 'no workloads');
await altered(page, 'pod', ({ pod }) => {
  pod.containers = [{ id: 'aaaaaaaaaaaa', name: 'web', power_w: 3, energy_j: 30, cpu_cores: 0.3, cost: 0.5, currency: 'EUR', co2_g: 2 }, { id: 'bbbbbbbbbbbb', name: null, power_w: 1, energy_j: 10, cpu_cores: 0.1 }];
  Object.assign(pod, { energy_j: 50, rest: { power_w: 1, energy_j: 10, cpu_cores: 0.1 } });
});
await open(page, 'pod/went');
await reads('the containers of a pod, and the rest', page, /Container Power Energy Share Cores web 3\.0 W 30 J, 0\.5000 EUR, 2\.00 g CO2 60.*% 0\.300 bbbbbbbbbbbb 1\.0 W .*20.*% 0\.100 \(rest\) 1\.0 W/i);
await unaltered(page);
// Sleeping nodes, which simulated nodes do not provide
const power = (name, state, more) => ({ name, state, presumed: false, since_wall_s: 1e9, last_slept_wall_s: 1e9, last_woken_wall_s: null, round_trips: 1, round_trips_needed: 3, cycles_today: 1, cycles_per_day: 6, reason: `reason of ${state}`, ...more });
const sleeping = (more) => altered(page, 'sleep', (body) => Object.assign(body, {
  mode: 'auto', age_s: 1, saved_j_per_day: 2e6, sleep: [{ name: 'sim-00', moves: [{}, {}] }], awake: [{ name: 'sim-01' }],
  nodes: [power('sim-00', 'asleep', { presumed: true }), power('sim-01', 'suspending'), power('sim-02', 'waking'), power('sim-03', 'probation'), power('sim-04', 'failed'), power('sim-05', 'blocked')],
  totals: { cost: 0.25, currency: 'EUR', co2_g: 317, saved_j: 3e6, cycles: 5, tests: 1, tests_j: 5e4, failures: [{ cause: 'no_wake', count: 2 }], waited_pods: 2, waited_s: 6 },
  transitions: [{ at_wall_s: 1e9, node: 'sim-00', from: 'idle', to: 'asleep', reason: 'observed off' }], ...more }));
await sleeping({});
await altered(page, 'savings', (body) => {
  body.sum.in_force_w = 188;
  const [known, young] = body.levers;
  Object.assign(known, { saved_w: 50, saved_low_w: 20.5, saved_high_w: 61, no_interval: null, measured: 'nothing, because replicas before a change are not recorded' });
  Object.assign(young, { saved_w: 40, saved_low_w: null, no_interval: 'how much the pods change is unknown before two days of telemetry' });
  return body;
});
await open(page, 'fleet');
await reads('savings: levers in force', page, /In force: 188\.0 W \(\d+% of the power without it\), modelled\./);
await reads('savings: an interval, and why there is none', page, /50\.0 W 20\.5 to 61\.0 W .*Measured: nothing, because replicas before a change are not recorded\. .*40\.0 W none: how much the pods change is unknown before two days of telemetry/);
await reads('sleep: the plan', page, /By the plan, 1 node could sleep: sim-00 \(2 pods move\)\. It saves [\d.]+ MJ/);
await reads('sleep: the saving', page, /Complete round trips saved [\d.]+ MJ, 0\.2500 EUR, 317 g CO2 \(modelled\), net of transitions\. Round trips: 5, of them tests of nodes: 1, which cost [\d.]+ kJ\. Failures: 2 no_wake\. 2 pods waited for a wake, 3.{0,3}s on average\./);
await reads('sleep: states', page, /asleep presumed .*1 of 3 1 of 6 reason of asleep.*suspending.*waking.*probation.*failed.*blocked/);
await reads('sleep: transitions', page, /From To Reason .*sim-00 idle asleep observed off/);
await unaltered(page);
await sleeping({ sleep: [], nodes: [], transitions: [] });
await open(page, 'cost');
await open(page, 'fleet');
await reads('sleep: a plan without nodes', page, 'The plan puts no node to sleep; 1 stays awake.');
await unaltered(page);
await sleeping({ age_s: null, sleep: [], awake: [], nodes: [], transitions: [] });
await open(page, 'cost');
await open(page, 'fleet');
await reads('sleep: before the first plan', page, 'No sleep plan yet.');
await unaltered(page);
await altered(page, 'status', (body) => { Object.assign(body, { who_serves: [], policy: 'planner' }); });
await open(page, 'learning');
await reads('a policy that no network serves', page, 'Policy planner decides without a network.');
await unaltered(page);
const doctor = (nodes) => altered(page, 'doctor', (body) => { body.nodes = nodes; });
await doctor([{ name: 'a', connected: false, age_ms: null, findings: [] }]);
await open(page, 'health');
await reads('a node without any report', page, /a failed connection it has never sent a sample/);
await unaltered(page);
await doctor([{ name: 'a', connected: true, age_ms: 1, findings: [{ name: 'energy', state: 'ok', detail: '', fix: '' }] }]);
await open(page, 'fleet');
await open(page, 'health');
await reads('agents that report all values', page, 'All agents report all their values.');
await unaltered(page);
await doctor(Array.from({ length: 301 }, (_, i) => ({ name: `n-${i}`, connected: true, age_ms: 1, findings: [{ name: 'energy', state: 'lost', detail: `because of ${i}`, fix: '' }] })));
await open(page, 'fleet');
await open(page, 'health');
await reads('more kinds of findings than are shown', page, '1 more findings: wattle doctor');
await unaltered(page);
await altered(page, 'policy', (body) => { body.regression = { ...body.regression, ready: true, limit: 5, level: 1.5 }; });
await altered(page, 'status', (body) => { body.withheld = []; });
await open(page, 'learning');
await reads('a monitor with a verdict', page, /alarm at 5\.0, now 1\.5/);
await reads('no withheld advice', page, 'No feature is disabled.');
await unaltered(page);
// Sentences about two nearly equal nodes, which no fleet provides reliably
const said = await page.evaluate(async () => {
  const { sentence } = await import('/page/decisions.js'), { whatIfSentence } = await import('/page/whatif.js');
  const node = (name, watts, masked = null) => ({ node: name, marginal_w: watts, masked });
  const answer = (advice, ...candidates) => ({ advice, candidates });
  return [
    sentence({ pod_name: 'p', candidates: [node('a', 1), node('b', 1.01), ...[1, 2, 3, 4].map((i) => node(`m-${i}`, null, `reason ${i}`))], winner: 'a', advice: 'a', placed_on: null }),
    whatIfSentence({ as_is: answer('a', node('a', 1)), otherwise: answer('a', node('a', 1)) }),
    whatIfSentence({ as_is: answer('a', node('a', 1)), otherwise: answer('b', node('b', 1), node('a', 1)) }),
    whatIfSentence({ as_is: answer('a', node('a', 1)), otherwise: answer('b', node('b', 3)) }),
    sentence({ pod_name: 'p', candidates: [node('a', 1)], winner: null, advice: null, deferred: { again_s: 9.2 }, placed_on: null }),
  ];
});
check('two nearly equal nodes, and many reasons', said[0] === 'a was best for default/p: it should add 1.0 W there, the same as on b. Excluded: m-1 (reason 1); m-2 (reason 2); m-3 (reason 3); and others.', said[0]);
check('a what-if: no change of the advice', said[1] === 'Wattle would then advise a, as now: the pod should add 1.0 W there.', said[1]);
check('a what-if: another nearly equal node', said[2] === 'Wattle would then advise b: the pod should add 1.0 W there; the current advice is a.', said[2]);
check('a what-if: another more costly node', said[3] === 'Wattle would then advise b: the pod should add 3.0 W there, 2.0 W more than on a, the current advice.', said[3]);
check('a pod that should wait', said[4] === 'a was best for default/p: it should add 1.0 W there. It should wait; retry in 10 s.', said[4]);
said.forEach(note);

// Amounts of every size
for (const text of await page.evaluate(async () => {
  const { watts, joules, bytes, span } = await import('/page/dom.js');
  return [watts(12_345), joules(4e6), joules(4e9), joules(12_345), joules(500), bytes(2 ** 51), bytes(2 ** 41), bytes(2 ** 31), bytes(2 ** 21), bytes(2048), span(5), span(600), span(9000), span(200_000), watts(null)];
})) note(text);

// Every glossary term in the page's text must link to the glossary.
const bare = () => {
  return [...document.querySelectorAll('main dt, main th, main h2, main small, main .sentence, main .prose, main .dim')].filter((each) => {
    const copy = each.cloneNode(true);
    copy.querySelectorAll('a, code, .tag').forEach((part) => part.remove());
    return /\b(prior|planner|network|gate|shadow|canary|live|budget|board|attribution|estimated|cluster model|ask|node-order|amortised rank)s?\b/i.test(copy.textContent);
  }).map((each) => each.textContent);
};
for (const [view, there] of [['pods', '.grid .row a'], ['health', 'tbody td'], ['node/sim-00', 'tbody td'], ['pod/went', 'tbody td'], ['decisions', 'tbody td a'], [`decision/${advised.id}`, 'a.term'], ['fleet', 'a.term'], ['learning', 'a.term'], ['saving', 'a.term'], ['cost', 'a.term']]) {
  await open(page, view);
  await page.waitForSelector(`main ${there}`);
  const left = await page.evaluate(bare);
  check(`${view}: each term links to the glossary`, left.length === 0, left);
}
await page.locator('main a.term').first().click();
await reads('a term links to its meaning', page, /^Glossary Terms amortised rank .*shadow The mode that decides and records/);

const other = await visitor({ bypassCSP: true });
await other.page.goto(`${url}/`);
await enter(other.page, 'a-word-for-this-test-alone');
for (const view of ['glossary/prior', 'node/sim-00', `decision/${nowhere.id}`, 'pod/short', 'pod/went', 'node/this-machine']) {
  await open(other.page, view);
  await other.page.waitForTimeout(600);
  await clean(view, other.page);
}
await open(other.page, 'saving');
for (const [name, size] of [['wide', { width: 1280, height: 900 }], ['phone', { width: 390, height: 844 }]]) {
  await other.page.setViewportSize(size);
  await other.page.click('#change');
  await other.page.locator('dialog select').first().selectOption('live');
  await reads(`${name}: the dialogue, and which mode is next`, other.page, 'The gate to live is closed: shadow is the next mode.', 'dialog');
  await clean(`${name}, change`, other.page);
  await other.page.click('dialog button:text-is("Cancel")');
}
await finish();
