// Answers the seven questions of questions_test.py on the page: each starts at its first view, and every click counts.
// Usage: node questions.mjs URL TOKEN CHROMIUM FOLDER-OF-scripts/web '{"node": ..., "pod": ..., "name": ..., "silent": ..., "acting": false, "clicks": 1}'
import { createRequire } from 'node:module';

const [url, token, executablePath, web, facts] = process.argv.slice(2);
const { node, name, silent, acting, clicks: most } = JSON.parse(facts);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
let failed = 0;
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.request.post(`${url}/page/pass`, { headers: { 'X-Wattle': 'page' }, data: { token } });
const page = await context.newPage();
page.setDefaultTimeout(60_000 * Number(process.env.WATTLE_PATIENCE || 1));
const says = (pattern) => page.waitForFunction((source) => new RegExp(source, 's').test(document.querySelector('main').innerText), pattern.source);

async function question(text, answer) {
  await page.goto('about:blank');
  await page.goto(`${url}/`);
  await page.waitForSelector('.grid .row a');
  let clicks = 0;
  const click = async (locator) => { clicks += 1; await locator.click(); };
  try {
    await answer(click);
    if (clicks > most) throw new Error(`it took ${clicks} clicks`);
    console.log(`ok   ${text}? ${clicks} clicks`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${text}? ${error.message}: ${(await page.locator('main').innerText()).slice(0, 1500)}`);
  }
}
const view = (label) => page.locator('#views a', { hasText: label });
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

await question('what does it save', async (click) => {
  const verb = acting ? '(saves|uses)' : 'would (save|use)';
  await says(new RegExp(`Saving\\s+-?[\\d.,]+ W\\s+${verb} [\\d.]+ W (more )?\\([\\d.]+%\\) \\[-?[\\d.]+, -?[\\d.]+\\], modelled`));
  // While Wattle acts, the chart's second line is the power without it. In mode shadow that is the power of the fleet itself.
  await says(new RegExp(`all, with the default scheduler \\(modelled\\)\\s+${acting ? '[\\d.,]+ W' : '–'}`));
  await click(view('Saving'));
  await says(acting ? /In mode live, Wattle (saves|uses) [\d.]+ W / : /In mode shadow, Wattle would (save|use) [\d.]+ W /);
});
await question('what does it cost', async () => {
  await says(/Energy per day\s+[\d.,]+ [kMG]?J\s+.*at [\d.,]+ W now/);
  await says(/Waiting for CPU\s+(–|[\d.]+%)\s+of pods' time/);
});
await question('is anything wrong', async (click) => {
  await says(/1 of \d+ nodes is silent and gets no pods from Wattle\. Details/);
  await click(page.locator('.alarm', { hasText: 'is silent' }).locator('a'));
  await page.waitForFunction((wanted) => [...document.querySelectorAll('main tbody tr')].some((row) => row.textContent.startsWith(`${wanted}failed`) && row.textContent.includes('it is silent')), silent);
});
await question('which node draws most and why', async (click) => {
  await page.waitForFunction((wanted) => document.querySelector('.grid .row a').textContent === wanted, node);
  await click(page.locator('.grid .row a').first());
  await says(new RegExp(`Node ${escaped(node)}.*Workloads.*shop-\\d.* W`));
});
await question('what did namespace X cost', async (click) => {
  await click(view('Cost'));
  await says(/Since .* all nodes have used .*J/);
  await page.waitForFunction(() => [...document.querySelectorAll('main tbody tr')].some((row) => row.cells[0].textContent === 'default' && /\d+ [kMG]?J/.test(row.textContent)));
});
await question('why is this pod there', async (click) => {
  await click(view('Pods'));
  await page.waitForFunction((wanted) => [...document.querySelectorAll('.grid .row')].some((row) => row.textContent.includes(wanted) && /adds -?[\d.]+ W, ranked \d+ of \d+ nodes/.test(row.textContent)), name);
});
await question('does learning help', async (click) => {
  await click(view('Learning'));
  await says(/In use\s+The (network \S+|plan|policy \S+) is in use.*The network \S+ is .*cost [\d.]+% \[[\d.]+, [\d.]+\] .* less than the plan's/);
});
await browser.close();
process.exit(failed ? 1 : 0);
