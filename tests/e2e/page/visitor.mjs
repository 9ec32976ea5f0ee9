// visitor: a real Chromium for states_test.py: viewers, the texts that they see, and changes of the world in Python.
// Usage    node SCRIPT URL TOKEN CHROMIUM FOLDER-OF-scripts/web FILE-FOR-TEXTS [FOLDER-FOR-SCREENSHOTS]
// World    world('kill', ...) asks Python by a line on standard output; the answer is a line on standard input
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

export const [url, token, executablePath, web, textFile, shots] = process.argv.slice(2);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
const axe = readFileSync(`${web}/node_modules/axe-core/axe.min.js`, 'utf8');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const PATIENCE = 90_000 * Number(process.env.WATTLE_PATIENCE || 1);

let failed = 0;
const texts = new Set(), all = [];
export const note = (text) => texts.add(text);
export function check(claim, truth, reported = '') {
  console.log(`${truth ? 'ok   ' : 'FAIL '}${claim}${truth ? '' : `: ${typeof reported === 'string' ? reported : JSON.stringify(reported).slice(0, 2000)}`}`);
  if (!truth) failed += 1;
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export async function world(...words) {
  process.stdout.write(`@world ${JSON.stringify(words)}\n`);
  return JSON.parse((await answers.next()).value);
}

// A separate browser. Records all shown texts, and violations.
export async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...options });
  const seen = { elsewhere: [], violations: [], errors: [] };
  context.on('request', (request) => { if (!request.url().startsWith(`${url}/`)) seen.elsewhere.push(request.url()); });
  await context.exposeBinding('noteViolation', (_, text) => seen.violations.push(text));
  await context.exposeBinding('noteText', (_, text) => note(text));
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => window.noteViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
    const NAMES = ['aria-label', 'placeholder', 'title', 'alt'], known = new Set();
    const read = (given) => {
      const text = (given || '').replace(/\s+/g, ' ').trim();
      if (/[A-Za-z]/.test(text) && !known.has(text)) { known.add(text); window.noteText(text); }
    };
    const look = (node) => {
      if (node.nodeType === 3) read(node.data);
      if (node.nodeType !== 1) return;
      if (node.matches('a.term')) read(node.parentElement?.textContent);  // a text in parts, because its terms are links
      if (node.querySelector(':scope > a.term')) read(node.textContent);
      NAMES.forEach((name) => read(node.getAttribute(name)));
      node.childNodes.forEach(look);
    };
    new MutationObserver((changes) => changes.forEach((change) => {
      if (change.type === 'attributes') read(change.target.getAttribute(change.attributeName));
      else if (change.type === 'characterData') read(change.target.data);
      else change.addedNodes.forEach(look);
    })).observe(document, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: NAMES });
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => seen.errors.push(error.stack || String(error)));
  // A lost or refusing controller is expected here.
  page.on('console', (message) => { if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) seen.errors.push(message.text()); });
  page.setDefaultTimeout(PATIENCE);
  all.push({ context, seen });
  return { context, page };
}

export async function open(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash.startsWith('#') ? hash : `#/${hash}`);
}
const read = (page, where) => page.evaluate((selector) => [...document.querySelectorAll(selector)].map((each) => each.innerText).join('\n').replace(/\s+/g, ' ').trim(), where);

// Every text node of the document that has a letter.
const shown = () => {
  const found = [], walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.replace(/\s+/g, ' ').trim();
    if (/[A-Za-z]/.test(text) && !['SCRIPT', 'STYLE'].includes(walker.currentNode.parentElement.tagName)) found.push(text);
  }
  document.querySelectorAll('a.term').forEach((each) => found.push(each.parentElement.textContent.replace(/\s+/g, ' ').trim()));
  return found;
};

// Waits until the text is on the page; otherwise reports the current text.
export async function reads(claim, page, wanted, where = 'main') {
  const source = wanted instanceof RegExp ? wanted.source : wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  try {
    await page.waitForFunction(([selector, pattern]) => new RegExp(pattern, 's').test([...document.querySelectorAll(selector)].map((each) => each.innerText).join('\n').replace(/\s+/g, ' ').trim()), [where, source]);
    check(claim, true);
    // Waits for noteText's pending texts, which leaving the page would discard.
    for (const text of await page.evaluate(shown)) note(text);
  } catch (error) {
    check(claim, false, `no /${source}/ in ${where}: ${(await read(page, where).catch(() => String(error))).slice(0, 1500)}`);
  }
}
// Waits until the page's address matches. page.url() lags behind the page.
export const addressed = (claim, page, ...patterns) => holds(claim, page, (all) => all.every((each) => new RegExp(each).test(location.hash)), patterns.map((each) => each.source));
export const addressedNot = (claim, page, pattern) => holds(claim, page, (each) => !new RegExp(each).test(location.hash), pattern.source);
const holds = async (claim, page, truth, argument) => check(claim, await page.waitForFunction(truth, argument).then(() => true, () => false), page.url());
export const readsNot = async (claim, page, pattern, where = 'main') => check(claim, !pattern.test(await read(page, where)), (await read(page, where)).slice(0, 1500));

// With axe, which needs a visitor with bypassCSP; also checks that no element is wider than the screen.
export async function clean(name, page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const faults = found.violations.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
  check(`${name}: axe finds no problem`, faults.length === 0, faults);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(`${name}: no element is wider than the screen`, wide <= 0, String(wide));
  if (shots) await page.screenshot({ path: `${shots}/state-${name.replace(/\W+/g, '-')}.png` });
}

// Modifies the controller's answer, for states that no world here has.
export async function altered(page, document, change) {
  await page.route(`**/api/v1/${document}?*`, handle);
  await page.route(`**/api/v1/${document}`, handle);
  async function handle(route) {
    const answer = await route.fetch();
    const body = await answer.json();
    change(body);
    await route.fulfill({ response: answer, json: body });
  }
}

// Restores the answers, once pending ones have arrived, because a released request cannot be answered too.
export const unaltered = (page) => page.unrouteAll({ behavior: 'wait' });

export async function enter(page, word = token) {
  await page.fill('#token', word);
  await page.keyboard.press('Enter');
}

export async function finish() {
  for (const { context, seen } of all) {
    check('no request went to another origin', seen.elsewhere.length === 0, seen.elsewhere);
    check('the page did not violate the Content-Security-Policy', seen.violations.length === 0, seen.violations);
    check('no script failed', seen.errors.length === 0, seen.errors);
    await context.close();
  }
  await browser.close();
  writeFileSync(textFile, JSON.stringify([...texts]));
  process.exit(failed ? 1 : 0);
}
