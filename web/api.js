// api: fetches the controller's documents, its stream of events, and the session's permissions.

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

// JavaScript numbers have 53 bits and the controller's ids 64. An id that would be rounded stays text.
const IDS = /"((?:\w+_)?id|epoch|incarnation|\w+_seq|step|\w+_step)":(\d{16,})/g;
export const parsed = (text) => JSON.parse(text.replace(IDS, (whole, name, digits) => (Number.isSafeInteger(Number(digits)) ? whole : `"${name}":"${digits}"`)));

// Error texts of the controller begin with the kind of error, which the status already shows.
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
  const answered = await ask(`/api/v1/${what}${given.length ? `?${new URLSearchParams(given)}` : ''}`);
  if (answered[0].status === 401) tokenNeeded.forEach((call) => call());
  return answer(answered);
}

const headers = { 'X-Wattle': 'page', 'Content-Type': 'application/json' };
export const passState = async () => answer(await ask('/page/pass'));
export const givePass = async (token) => answer(await ask('/page/pass', { method: 'POST', headers, body: JSON.stringify({ token }) }));
// Sends the operator's token in this header only and never stores it. Replaces characters that a header cannot hold.
export const makeChange = async (token, what) => answer(await ask('/page/change', { method: 'POST', headers: { ...headers, Authorization: `Bearer ${token.replace(/[^!-~]/g, '?')}` }, body: JSON.stringify(what) }));
export const dropPass = async () => answer(await ask('/page/pass', { method: 'DELETE', headers }));

// One event stream for the whole page, open while the page is visible.
const listeners = new Map();
let source = null;
let retry = 0;
let state = () => {};

export const onState = (call) => { state = call; };
// Returns a function that removes the listener.
export function listen(event, call) {
  if (!listeners.has(event)) listeners.set(event, new Set());
  listeners.get(event).add(call);
  return () => listeners.get(event).delete(call);
}

// The controller sends an event every 2 s. A silent stream may be a dead connection that reports no error.
const SILENT = 15_000;  // ms
let lastEvent = 0, watch = 0, wanted = false;

function open() {
  if (source || document.hidden) return;
  clearTimeout(retry);
  lastEvent = Date.now();
  source = new EventSource('/api/v1/live');
  source.onerror = () => {
    // The browser reconnects by itself after an interruption, but not after a refusal.
    if (source.readyState !== EventSource.CLOSED) return state('lost');
    close();
    retry = setTimeout(open, 5000);
    return state('refused');
  };
  for (const event of ['fleet', 'heat', 'decisions'])
    source.addEventListener(event, (message) => { lastEvent = Date.now(); state('live'); const body = parsed(message.data); (listeners.get(event) || []).forEach((call) => call(body)); });
  watch = setInterval(() => {
    if (Date.now() - lastEvent < SILENT) return;
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
// A hidden page causes no traffic.
document.addEventListener('visibilitychange', () => {
  if (!wanted) return;
  if (document.hidden) { close(); state('paused'); } else open();
});
