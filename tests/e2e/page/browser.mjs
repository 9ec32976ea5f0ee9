// Tests every view of the page in Chromium: requests, refusals, axe, keyboard and phone.
// Usage: node browser.mjs URL TOKEN CHROMIUM FOLDER-OF-scripts/web [FOLDER-FOR-SCREENSHOTS]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [url, token, chromiumPath, web, shots] = process.argv.slice(2);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
const axe = readFileSync(`${web}/node_modules/axe-core/axe.min.js`, 'utf8');
const VIEWS = ['fleet', 'pods', 'cost', 'decisions', 'learning', 'saving', 'health'];
const MOST_BYTES = 200_000;
const PATIENCE = 60_000 * Number(process.env.WATTLE_PATIENCE || 1);

let failed = 0;
const check = (claim, truth, reported = '') => {
  console.log(`${truth ? 'ok   ' : 'FAIL '}${claim}${truth ? '' : `: ${typeof reported === 'string' ? reported : JSON.stringify(reported).slice(0, 2000)}`}`);
  if (!truth) failed += 1;
};

const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });

// A separate browser that records violations.
async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...options });
  const seen = { elsewhere: [], violations: [], errors: [], bytes: 0 };
  context.on('request', (request) => { if (!request.url().startsWith(`${url}/`)) seen.elsewhere.push(request.url()); });
  await context.exposeBinding('noteViolation', (_, text) => seen.violations.push(text));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => window.noteViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('console', (message) => { if (message.type() === 'error' && !/status of 401/.test(message.text())) seen.errors.push(message.text()); });
  page.on('requestfinished', async (request) => {
    if (request.url().includes('/api/')) return;
    const sizes = await request.sizes().catch(() => null);
    if (sizes) seen.bytes += sizes.responseBodySize;
  });
  page.setDefaultTimeout(PATIENCE);
  return { context, page, seen };
}
const open = async (page, view, what) => {
  await page.evaluate((hash) => { location.hash = hash; }, `#/${view}${what ? `/${encodeURIComponent(what)}` : ''}`);
  await page.waitForFunction(() => document.querySelector('main h1'));
  await page.waitForTimeout(500);
};
const enter = async (page) => {
  await page.goto(`${url}/`);
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('main .tiles');
};
const shot = async (page, name) => { if (shots) await page.screenshot({ path: `${shots}/${name}.png` }); };

{
  const { context, page, seen } = await visitor();
  await page.goto(`${url}/`);
  await page.waitForSelector('#token');
  check('without the token the page shows no data of the cluster', (await page.locator('.tiles').count()) === 0);
  await page.fill('#token', 'not the token at all');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('[role=alert]').textContent.includes('wrong token'));
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.waitForSelector('main .tiles');
  const cookie = (await context.cookies()).find((each) => each.name === 'wattle_pass');
  check('the token becomes an HttpOnly cookie with SameSite', cookie && cookie.httpOnly && cookie.sameSite === 'Strict' && !cookie.value.includes(token), cookie);
  check('scripts cannot read the cookie', (await page.evaluate(() => document.cookie)) === '');
  await page.waitForFunction(() => document.getElementById('link').dataset.state === 'live');
  check('events are pushed', true);
  await page.waitForSelector('.grid .row a');
  await page.waitForTimeout(1500);
  for (const end = Date.now() + PATIENCE; seen.bytes <= 20_000 && Date.now() < end;) await page.waitForTimeout(100);
  check('the page is at most 200 KB over the wire', seen.bytes > 20_000 && seen.bytes <= MOST_BYTES, String(seen.bytes));
  console.log(`     ${seen.bytes} bytes over the wire`);

  const first = await page.locator('.grid .row').first().textContent();
  const powers = await page.$$eval('.grid .row', (rows) => rows.map((row) => parseFloat(row.children[1].textContent.replace(/,/g, ''))));
  check('nodes are sorted by watts', powers.length > 5 && powers.every((w, i) => i === 0 || w <= powers[i - 1]), powers);
  await page.click('.grid .top button:has-text("Node")');
  const byName = () => [...document.querySelectorAll('.grid .row')].map((row) => row.children[0].textContent).every((name, i, all) => all.length > 5 && (i === 0 || name >= all[i - 1]));
  check('nodes are sorted by name on request', await page.waitForFunction(byName).then(() => true, () => false), first);
  await page.fill('input.filter', 'sim-07');
  await page.waitForFunction(() => document.querySelectorAll('.grid .row').length === 1);
  const inAddress = () => location.hash.includes('filter=sim-07') && location.hash.includes('sort=name');  // page.url() lags behind the page
  check('the address has the filter and the sort', await page.waitForFunction(inAddress).then(() => true, () => false), page.url());
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll('.grid .row').length === 1 && document.querySelector('input.filter').value === 'sim-07');
  check('a reload restores the sort', (await page.locator('.grid .top [aria-sort=ascending]').textContent()).startsWith('Node'));
  check('a filter shows only matching nodes', (await page.locator('.grid .row').first().textContent()).includes('sim-07'));
  await page.fill('input.filter', '');
  await page.waitForFunction(() => document.querySelectorAll('.grid .row').length > 5);
  check('rows outside of the view are not drawn', (await page.locator('.grid .row').count()) < 45);
  await page.evaluate(() => { const grid = document.querySelector('.grid'); grid.scrollTop = grid.scrollHeight; });
  await page.waitForFunction(() => [...document.querySelectorAll('.grid .row')].some((row) => row.getAttribute('aria-rowindex') === '62' && !row.textContent.includes('…')));
  check('scrolling shows the last row', true);

  // With the keyboard only.
  await page.locator('.grid').focus();
  await page.keyboard.press('2');
  await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Pods' && document.querySelector('.grid .row a'));
  await page.keyboard.press('/');
  check('"/" focuses the filter', await page.evaluate(() => document.activeElement.classList.contains('filter')));
  await page.keyboard.press('Tab');
  while (!(await page.evaluate(() => document.activeElement.getAttribute('role') === 'grid'))) await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.startsWith('#/pod/'));
  check('arrows and Enter open a row', true);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => location.hash === '#/pods');
  check('Escape returns to the parent view', true);

  for (const view of VIEWS) {
    await open(page, view);
    check(`${view} has no error`, (await page.locator('.error').count()) === 0, await page.locator('main').innerText());
    await shot(page, `${view}-light`);
  }
  await open(page, 'pods');
  await page.fill('input.filter', 'onerror');
  await page.waitForFunction(() => [...document.querySelectorAll('.grid .row')].some((row) => row.textContent.includes('<img src=x onerror')));
  check('a hostile name is shown as text', (await page.locator('main img').count()) === 0);
  await page.fill('input.filter', 'exe');
  await page.waitForFunction(() => [...document.querySelectorAll('.grid .row')].some((row) => row.textContent.includes('a\\u202egpj.exe')));
  check('characters that change text direction are shown escaped', true);
  await open(page, 'decisions');
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length >= 20);
  const decision = await page.locator('main tbody tr td a').first().textContent();
  await page.evaluate(() => { document.querySelectorAll('main tbody tr').forEach((each) => { each.kept = true; }); });
  await page.waitForTimeout(11_000);
  check('a row without changes is not rebuilt', await page.evaluate(() => [...document.querySelectorAll('main tbody tr')].filter((each) => each.kept).length >= 15));
  await open(page, 'decision', decision);
  await page.waitForFunction(() => / was best for /.test(document.querySelector('.sentence').textContent));
  check('a decision is a sentence', true);
  await shot(page, 'decision-light');
  const winner = await page.locator('tr.chosen td a').first().textContent();
  await page.locator('tr.chosen input[type=checkbox]').check();
  const then = (pattern) => page.waitForFunction((source) => new RegExp(source).test(document.querySelectorAll('.sentence')[1].textContent), pattern);
  const made = async () => (await page.evaluate(() => fetch('/api/v1/status').then((answer) => answer.json()))).decisions;
  const before = await made();
  await then(`^Wattle would then advise (?!${winner}[:,;.]|no node)`);
  check('a what-if without the winner advises another node', true);
  check('both answers are shown side by side', (await page.locator('section[aria-label="What if"] tbody tr').count()) > 3);
  await page.locator('tr.chosen input[type=checkbox]:checked').first().uncheck();
  await then('^$');
  await page.fill('form.whatif input[name=cpu]', '100000');
  await page.keyboard.press('Enter');
  await then('^Wattle would then advise no node: no candidate is feasible');
  check('a pod larger than any node fits nowhere', true);
  await page.fill('form.whatif input[name=cpu]', '');
  await page.fill('form.whatif input[name=energy]', '5');
  await page.keyboard.press('Enter');
  await then('^Wattle would then advise \\S+');
  check('other weights are used in the request', true);
  await shot(page, 'what-if-light');
  await page.fill('form.whatif input[name=cpu]', 'many');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('section[aria-label="What if"] .error')?.textContent.includes("'many' is not a quantity"));
  check('an invalid size is reported', true);
  seen.errors = seen.errors.filter((text) => !/status of 400/.test(text));
  check('a what-if makes no decision', (await made()) === before);
  await open(page, 'node', winner);
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length > 3);
  check('a node has its tiles and workloads', (await page.locator('.error').count()) === 0, await page.locator('main').innerText());
  await shot(page, 'node-light');
  await open(page, 'pod', 'hostile-0');
  await page.waitForFunction(() => document.querySelector('h1').textContent.includes('<img src=x'));
  check('a pod has its tiles', (await page.locator('.error').count()) === 0, await page.locator('main').innerText());
  await shot(page, 'pod-light');
  await open(page, 'node', 'no such <b>node</b>');
  await page.waitForSelector('.error');
  check('an unknown node is reported', (await page.locator('.error').textContent()).includes('no such <b>node</b>'));
  check('only the error of an unknown node is shown', (await page.locator('main section:visible, main .tile:visible').count()) === 0, await page.locator('main').innerText());
  seen.errors = seen.errors.filter((text) => !/status of 404/.test(text));
  check('no script in a hostile name ran', (await page.evaluate(() => window.hostile)) === undefined);
  check('no request goes to another origin', seen.elsewhere.length === 0, seen.elsewhere);
  check('the page does not violate the Content-Security-Policy', seen.violations.length === 0, seen.violations);
  check('no error in the console', seen.errors.length === 0, seen.errors);
  await context.close();
}

// With axe, and on a phone.
for (const [name, options] of [['light', {}], ['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 }]]) {
  const { context, page } = await visitor({ ...options, bypassCSP: true });
  await enter(page);
  for (const [view, what] of [...VIEWS.map((each) => [each]), ['node', 'sim-03'], ['decision', '1'], ['pod', 'hostile-0']]) {
    await open(page, view, what);
    if (view === 'pod') await page.waitForSelector('section[aria-label="Pressure"] table');
    if (name !== 'light') await shot(page, `${view}-${name}`);
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const faults = found.violations.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
    check(`${view}, ${name}: axe finds no problem`, faults.length === 0, faults);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(`${view}, ${name}: no element is wider than the screen`, wide <= 0, String(wide));
    if (view !== 'fleet') continue;
    // Simulates a machine where pods exceed the waiting budget by far, with the tile at any end of a line.
    const full = await page.evaluate(() => {
      for (const reported of document.querySelectorAll('.tile dd')) reported.insertAdjacentHTML('beforeend', '<small>of pods\' time <span class="tag bad">123.4 times the budget</span></small>');
      return document.documentElement.scrollWidth - document.documentElement.clientWidth;
    });
    check(`${view}, ${name}: an exceeded budget is not wider than the screen`, full <= 0, String(full));
  }
  await context.close();
}

// Reports the time to the first view, and the longest task while scrolling; no assertions.
{
  const { context, page } = await visitor();
  await enter(page);
  await page.goto('about:blank');
  await page.goto(`${url}/`);
  await page.waitForSelector('.grid .row a');
  const soon = await page.evaluate(() => ({ painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime, listed: performance.now() }));
  console.log(`     first paint after ${Math.round(soon.painted)} ms, the list of nodes after at most ${Math.round(soon.listed)} ms`);
  const longest = await page.evaluate(async () => {
    let most = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) most = Math.max(most, entry.duration); }).observe({ type: 'longtask' });
    const grid = document.querySelector('.grid');
    for (let i = 0; i < 60; ++i) { grid.scrollTop += 97; await new Promise(requestAnimationFrame); }
    return most;
  });
  console.log(`     longest task while scrolling: ${longest} ms (0: none above 50)`);
  await context.close();
}
await browser.close();
process.exit(failed ? 1 : 0);
