// theme: the system's theme, or light or dark by choice; the browser stores the choice.
import { fill } from '/page/dom.js';

const KEY = 'wattle-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
let chosen = 'auto';
try { chosen = localStorage.getItem(KEY) || 'auto'; } catch { /* nothing is remembered */ }

function apply() {
  document.documentElement.dataset.theme = chosen === 'auto' ? (dark.matches ? 'dark' : 'light') : chosen;
  document.dispatchEvent(new Event('theme'));
}
apply();
dark.addEventListener('change', apply);

export function choiceOfTheme(button) {
  const label = () => fill(button, { auto: 'Theme: auto', light: 'Theme: light', dark: 'Theme: dark' }[chosen]);
  button.addEventListener('click', () => {
    chosen = { auto: 'light', light: 'dark', dark: 'auto' }[chosen];
    try { localStorage.setItem(KEY, chosen); } catch { /* for this visit */ }
    label();
    apply();
  });
  label();
}
