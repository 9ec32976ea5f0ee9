// Visits each view of the page for page_views.py and reports the CPU seconds of the page's main thread.
// Usage: node page_views.mjs URL TOKEN CHROMIUM FOLDER-OF-scripts/web VIEWS SPAN RUNS
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [url, token, executablePath, web, views, span, runs] = process.argv.slice(2);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
const SETTLE = 3000;  // ms: excludes the first drawing of a view
const TICKS = 100;  // per second, of /proc
const cpu = (pid) => { const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1].split(' '); return (Number(fields[11]) + Number(fields[12])) / TICKS; };

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const found = Object.fromEntries(views.split(',').map((view) => [view, []]));
for (let run = 0; run < Number(runs); ++run) {
  for (const view of Object.keys(found)) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.request.post(`${url}/page/pass`, { headers: { 'X-Wattle': 'page' }, data: { token } });
    const page = await context.newPage();
    await page.goto(`${url}/#/${view}`);
    await page.waitForTimeout(SETTLE);
    const { processInfo } = await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo');
    // The page's process is the one with the most CPU time since its start.
    const before = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => [id, cpu(id)]);
    await page.waitForTimeout(1000 * Number(span));
    found[view].push(Math.max(...before.map(([id, seconds]) => cpu(id) - seconds)));
    await context.close();
  }
}
await browser.close();
process.stdout.write(JSON.stringify(found));
