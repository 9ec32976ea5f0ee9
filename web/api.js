// api: the controller's documents, the stream of what happens, and who may see them.

export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const tokenNeeded = new Set();
export const onTokenNeeded = (call) => tokenNeeded.add(call);

const PATIENCE = 20_000;  // ms
async function ask(path, options = {}) {
  try {
    const response = await fetch(path, { credentials: 'same-origin', signal: AbortSignal.timeout(PATIENCE), ...options });
    return [response, await response.text()];
  } catch { throw new Refused(0, 'The controller does not answer.'); }
}

// A number of JavaScript has 53 bits, an id of the controller's 64: an id that would be rounded stays the text that it is.
const IDS = /"((?:\w+_)?id|epoch|incarnation|\w+_seq|step|\w+_step)":(\d{16,})/g;
export const parsed = (text) => JSON.parse(text.replace(IDS, (whole, name, digits) => (Number.isSafeInteger(Number(digits)) ? whole : `"${name}":"${digits}"`)));

// What the controller says begins with the kind of its error, which the status tells.
const KIND = /^(not found|denied|malformed|out of range|unavailable|timed out|unsupported|conflict|exhausted|input\/output error): /;
function answer([response, text]) {
  let body = null;
  try { body = parsed(text); } catch { /* a line of text */ }
  if (response.ok && body !== null) return body;
  const plain = (response.headers.get('Content-Type') || '').startsWith('text/plain') && text.trim();
  throw new Refused(response.status, (body && body.error && body.error.replace(KIND, '')) || plain || `The answer did not come from the controller (status ${response.status}). Check the proxy between it and this page.`);
}

export async function get(what, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const told = await ask(`/api/v1/${what}${given.length ? `?${new URLSearchParams(given)}` : ''}`);
  if (told[0].status === 401) tokenNeeded.forEach((call) => call());
  return answer(told);
}

const headers = { 'X-Wattle': 'page', 'Content-Type': 'application/json' };
export const passState = async () => answer(await ask('/page/pass'));
export const givePass = async (token) => answer(await ask('/page/pass', { method: 'POST', headers, body: JSON.stringify({ token }) }));
// No header but this one has an operator's token, and nothing keeps it. What no header can hold is no token.
export const makeChange = async (token, what) => answer(await ask('/page/change', { method: 'POST', headers: { ...headers, Authorization: `Bearer ${token.replace(/[^!-~]/g, '?')}` }, body: JSON.stringify(what) }));
export const dropPass = async () => answer(await ask('/page/pass', { method: 'DELETE', headers }));

// One stream for the whole page, while it is looked at.
const listeners = new Map();
let source = null;
let retry = 0;
let state = () => {};

export const onState = (call) => { state = call; };
// Gives a function that ends it.
export function listen(event, call) {
  if (!listeners.has(event)) listeners.set(event, new Set());
  listeners.get(event).add(call);
  return () => listeners.get(event).delete(call);
}

// The controller says something every 2 s. Where nothing comes a connection may be dead, and nobody has told.
const SILENT = 15_000;  // ms
let heard = 0, watch = 0, wanted = false;

function open() {
  if (source || document.hidden) return;
  clearTimeout(retry);
  heard = Date.now();
  source = new EventSource('/api/v1/live');
  source.onerror = () => {
    // The browser comes back by itself after a break, and not after a refusal.
    if (source.readyState !== EventSource.CLOSED) return state('lost');
    close();
    retry = setTimeout(open, 5000);
    return state('refused');
  };
  for (const event of ['fleet', 'heat', 'decisions'])
    source.addEventListener(event, (message) => { heard = Date.now(); state('live'); const body = parsed(message.data); (listeners.get(event) || []).forEach((call) => call(body)); });
  watch = setInterval(() => {
    if (Date.now() - heard < SILENT) return;
    close();
    state('lost');
    open();
  }, 5000);
}
function close() {
  if (source) source.close();
  source = null;
  clearTimeout(retry);
  clearInterval(watch);
}
export function connect() { wanted = true; open(); }
export function disconnect() { wanted = false; close(); }
// A page that nobody sees costs nobody anything.
document.addEventListener('visibilitychange', () => {
  if (!wanted) return;
  if (document.hidden) { close(); state('paused'); } else open();
});
