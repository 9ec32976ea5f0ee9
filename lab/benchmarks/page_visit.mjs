// Visits the page once for page_cost.py: opens the fleet view and reports its load times, waits until standard input
// ends, then scrolls the list from end to end and reports the page's longest task.
// Usage: node page_visit.mjs URL TOKEN CHROMIUM FOLDER-OF-scripts/web
import { createRequire } from 'node:module';

const [url, token, executablePath, web] = process.argv.slice(2);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
const SCROLLS = 240;
const say = (object) => process.stdout.write(`${JSON.stringify(object)}\n`);

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const pass = await context.request.post(`${url}/page/pass`, { headers: { 'X-Wattle': 'page' }, data: { token } });
  if (!pass.ok()) throw new Error(`the token is refused: ${pass.status()}`);
  const page = await context.newPage();
  let bytes = 0;
  page.on('requestfinished', async (request) => {
    if (request.url().includes('/api/')) return;
    const sizes = await request.sizes().catch(() => null);
    if (sizes) bytes += sizes.responseBodySize;
  });
  await page.goto(`${url}/`);
  await page.waitForSelector('.grid .row a', { timeout: 60_000 });
  const times = await page.evaluate(() => ({ first_paint_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime, rows_ms: performance.now() }));
  say({ ...times, bytes });
  await new Promise((done) => { process.stdin.on('end', done); process.stdin.resume(); });
  const longest = await page.evaluate(async (scrolls) => {
    let most = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) most = Math.max(most, entry.duration); }).observe({ type: 'longtask' });
    const grid = document.querySelector('.grid');
    const step = (grid.scrollHeight - grid.clientHeight) / scrolls;
    for (let i = 0; i < scrolls; ++i) { grid.scrollTop += i % 2 ? 97 : 2 * step - 97; await new Promise(requestAnimationFrame); }
    await new Promise((done) => setTimeout(done, 200));
    return most;
  }, SCROLLS);
  say({ longest_task_ms: longest, bytes });
} catch (error) {
  say({ error: String(error) });
} finally {
  await browser.close();
}
