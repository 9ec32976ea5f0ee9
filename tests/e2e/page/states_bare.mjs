// Tests the page of a controller without data: no node, no store, no learning; and failures between page and
// controller.
import { check, clean, enter, finish, open, reads, readsNot, token, url, visitor, world } from './visitor.mjs';

const AWAY = 'The controller does not answer.';
const { context, page } = await visitor();
const link = '#link';

// No data and no token
await page.goto(`${url}/`);
await reads('fleet, empty: says so', page, /Nodes 0 0 silent.*No nodes yet\. No agent has registered\./);
await reads('fleet, mode off: no saving', page, /Saving – not modelled: mode is off Energy per day – Idle power – Sleep would save – no node is without pods Measured/);
await reads('fleet: the mode', page, /Mode off /);
await reads('events are pushed', page, /^live$/, link);
check('without a required token there is no sign-out', (await page.locator('#out').count()) === 0);
check('the map says that it is empty', (await page.locator('canvas.heat').getAttribute('aria-label')) === 'No nodes yet');
await open(page, 'pods');
await reads('pods, none: says so', page, 'No pods. No agent reports one.');
await open(page, 'decisions');
await reads('decisions, none: says so', page, 'No decisions yet. The controller has received no request.');
await open(page, 'cost');
await reads('cost without a store: says so and the fix', page, /report: no store is configured.*store\.path/);
await open(page, 'learning');
await reads('learning off: says so and the fix', page, /learning is off.*learn\.enabled: true/);
await open(page, 'saving');
await reads('saving, mode off: says where one is measured', page, /models no saving in mode off.*Only mode canary measures a saving/);
await page.click('#change');
await reads('no token of an operator: changes are off, what to name, and what to type instead', page, /^Change the settings Changes from this page are disabled\. Set http\.operator_token_file of the controller to a file with an operator\'s token, or use the command line: wattle policy set --mode MODE --why TEXT Close$/, 'dialog');
await page.keyboard.press('Enter');  // the button to close has the focus
await page.waitForFunction(() => !document.querySelector('dialog[open]'));
await open(page, 'health');
await reads('health without agents: says so', page, /No agent has registered yet\./);
await reads('health: what the controller lacks, and the fix', page, /lost store .*store\.path/);

// Missing parts
await open(page, 'node/nobody%20%3Cb%3E');
await reads('an unknown node is named', page, /^node nobody <b>: no agent has registered under that name/, '.error');
await open(page, 'node/');
await reads('no node at all', page, /^argument name: is missing/, '.error');
await open(page, 'pod/nobody');
await reads('an unknown pod is reported', page, /No agent reports this pod now\. It has ended, or its node is silent\./, '.error');
await reads('an unknown pod has no decision', page, /pod nobody: no recent decision is about it/);
await open(page, 'decision/999');
await reads('an unknown decision is named', page, /999: no recent decision is about it/, '.error');
for (const name of ['nonsense', 'constructor', '%E0%A4%A']) {
  await open(page, name);
  await reads(`the unknown view ${name}`, page, `View not found Unknown view: ${name}. Back to the fleet`);
}
await page.click('main a');
await reads('an unknown view links to the fleet', page, /^Fleet/);

// Lost and restored connection
await open(page, 'health');
await reads('health again', page, /^Health/);
await world('kill');
await reads('a stopped controller: the connection is lost', page, /^connection lost$/, link);
for (const view of ['fleet', 'pods', 'cost', 'decisions', 'learning', 'saving', 'health', 'node/nobody', 'pod/nobody', 'decision/1']) {
  await open(page, view);
  await reads(`${view}: a stopped controller is reported`, page, AWAY, '.error');
}
await world('start');
await reads('a restarted controller: live again', page, /^live$/, link);
await reads('a view reloads by itself after a restart', page, /1: no recent decision is about it/, '.error');
await open(page, 'fleet');
await reads('the fleet loads after a restart', page, /No nodes yet/);
await readsNot('without an error', page, /does not answer/);

// The controller hangs: the connection stays open
await world('hang');
await reads('a controller that hangs: the connection is lost', page, /^connection lost$/, link);
await world('wake');
await reads('a resumed controller: live again', page, /^live$/, link);

// Too many viewers
await world('kill');
await world('start');
await reads('live after a restart', page, /^live$/, link);
await page.goto('about:blank');
await world('listen', 64);
await page.goto(`${url}/`);
await reads('a viewer beyond the limit is not live', page, /^not live$/, link);
await reads('a viewer beyond the limit sees the fleet', page, /No nodes yet/);
await world('leave');
await reads('a viewer is live below the limit', page, /^live$/, link);

// A token is required from now on
await open(page, 'node/nobody');
await reads('a view that is pushed', page, 'no agent has registered under that name', '.error');
await world('guard');
await reads('a newly required token is asked for', page, 'This controller requires a token');
check('the title says that a token is required', (await page.title()) === 'Token required · Wattle');
await enter(page, 'not the token at all');
await reads('a wrong token is reported', page, 'wrong token (use the token of http.token_file)', '[role=alert]');
await world('kill');
await enter(page);
await reads('a stopped controller is reported in the token dialogue', page, AWAY, '[role=alert]');
await world('start');
await enter(page);
await reads('with the token the same view is shown', page, /Node nobody.*no agent has registered under that name/);
await reads('with the token the view is live', page, /^live$/, link);

// Sign-out, and an expired session
await page.click('#out');
await reads('signed out: the token is asked for', page, 'This controller requires a token');
await readsNot('and nothing says that it is live', page, /live/, link);
check('signed out: no further sign-out', (await page.locator('#out').count()) === 0);
await enter(page);
await open(page, 'decisions');
await reads('signed in again', page, 'No decisions yet');
await context.clearCookies();
await reads('an expired session: the token is asked for', page, 'This controller requires a token');
await enter(page);
await reads('signed in again, in the same view', page, 'No decisions yet');
await world('kill');
await page.click('#out');
await reads('sign-out from a stopped controller is reported', page, `Sign-out failed. ${AWAY}`, '[role=alert]');
await world('start');
await reads('still signed in after a failed sign-out', page, /^live$/, link);

// A script of another site has no header of ours, and must be refused
const refused = await page.evaluate(async () => { const answer = await fetch('/page/pass', { method: 'DELETE' }); return [answer.status, (await answer.json()).error]; });
check('without the page\'s own header no request signs a viewer out', refused[0] === 403 && refused[1].includes('X-Wattle'), refused);

// Answers of proxies, which the controller never sends
const between = (status, contentType, body) => (route) => route.fulfill({ status, contentType, body });
await open(page, 'fleet');
await page.route('**/api/v1/decisions*', between(502, 'text/html', '<h1>Bad gateway</h1>'));
await open(page, 'decisions');
await reads('a proxy\'s page is no answer', page, /^The answer did not come from the controller \(status 502\)\. Check the proxy between it and this page\.$/, '.error');
await page.unroute('**/api/v1/decisions*');
await open(page, 'fleet');
await page.route('**/api/v1/decisions*', between(200, 'text/html', '<h1>Please log in</h1>'));
await open(page, 'decisions');
await reads('a proxy with status 200 is no answer of the controller', page, 'The answer did not come from the controller (status 200)', '.error');
await page.unroute('**/api/v1/decisions*');
await reads('a view reloads by itself after a proxy error', page, 'No decisions yet');
// The page loads, but its first request fails: a real controller would have to end in between.
await page.route('**/page/pass', (route) => route.abort());
await page.reload();
await reads('a controller that stops while the page loads', page, `${AWAY} Retrying every 5 s.`, '[role=alert]');
await page.unroute('**/page/pass');
await reads('the page loads by itself afterwards', page, 'No decisions yet');

// A hidden tab (simulated, because no tab is hidden without a screen)
const hidden = (value) => page.evaluate((is) => { Object.defineProperty(document, 'hidden', { configurable: true, get: () => is }); document.dispatchEvent(new Event('visibilitychange')); }, value);
await hidden(true);
check('a hidden page is paused', (await page.textContent(link)) === 'paused', await page.textContent(link));
await hidden(false);
await reads('a visible page is live again', page, /^live$/, link);

// With a store and learning, and an unreadable allow list
await world('grow');
await reads('live with a store', page, /^live$/, link);
await open(page, 'cost');
await reads('cost, nothing recorded', page, 'No usage recorded yet.');
await reads('cost without a tariff: no money', page, /Energy of nodes .* workloads, idle and unattributed .*Idle part .* drawn without any work.*\(idle\) .*\(all nodes\)/);
await open(page, 'learning');
await reads('learning on', page, /Decided by .*Gates/);
await world('keep');
await reads('a saved network that is in use', page, /kept 0 .* in use/);
await world('spoil');
await open(page, 'health');
await reads('the controller itself has failed, and the fix', page, /Controller failed.*failed allow list an older list is in force/);

// With axe, wide and on a phone
for (const [name, options] of [['wide', {}], ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: 'dark' }]]) {
  const other = await visitor({ ...options, bypassCSP: true });
  await other.page.goto(`${url}/`);
  await reads(`${name}: the token is asked for`, other.page, 'requires a token');
  await clean(`${name}, token`, other.page);
  await enter(other.page, 'wrong');
  await reads(`${name}: wrong`, other.page, 'wrong token', '[role=alert]');
  await clean(`${name}, wrong token`, other.page);
  await enter(other.page, token);
  await reads(`${name}: signed in`, other.page, 'No nodes yet');
  await clean(`${name}, empty fleet`, other.page);
  for (const view of ['pods', 'decisions', 'cost', 'learning', 'saving', 'health', 'node/nobody', 'pod/nobody', 'decision/999', 'nonsense']) {
    await open(other.page, view);
    await other.page.waitForTimeout(400);
    await clean(`${name}, empty ${view}`, other.page);
  }
  await open(other.page, 'saving');
  await other.page.click('#change');
  await reads(`${name}: changes are off`, other.page, 'Changes from this page are disabled.', 'dialog');
  await clean(`${name}, changes are off`, other.page);
}
await finish();
