// api: the controller's documents, the stream of what happens, and who may see them.

export class Refused extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const tokenNeeded = new Set();
export const onTokenNeeded = (call) => tokenNeeded.add(call);

async function answer(response) {
  const text = await response.text();
  let body = null;
  try { body = JSON.parse(text); } catch { /* a line of text */ }
  if (response.ok) return body;
  throw new Refused(response.status, (body && body.error) || text.trim() || `status ${response.status}`);
}

export async function get(what, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const response = await fetch(`/api/v1/${what}${given.length ? `?${new URLSearchParams(given)}` : ''}`, { credentials: 'same-origin' });
  if (response.status === 401) { tokenNeeded.forEach((call) => call()); throw new Refused(401, 'a token is needed'); }
  return answer(response);
}

const headers = { 'X-Wattle': 'page', 'Content-Type': 'application/json' };
export const passState = async () => answer(await fetch('/page/pass', { credentials: 'same-origin' }));
export const givePass = async (token) => answer(await fetch('/page/pass', { method: 'POST', headers, credentials: 'same-origin', body: JSON.stringify({ token }) }));
export const dropPass = async () => answer(await fetch('/page/pass', { method: 'DELETE', headers, credentials: 'same-origin' }));

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

export function connect() {
  if (source || document.hidden) return;
  clearTimeout(retry);
  source = new EventSource('/api/v1/live');
  source.onopen = () => state('live');
  source.onerror = () => {
    // The browser comes back by itself after a break, and not after a refusal.
    state('lost');
    if (source && source.readyState === EventSource.CLOSED) { disconnect(); retry = setTimeout(connect, 5000); }
  };
  for (const event of ['fleet', 'heat', 'decisions'])
    source.addEventListener(event, (message) => { state('live'); const body = JSON.parse(message.data); (listeners.get(event) || []).forEach((call) => call(body)); });
}
export function disconnect() {
  if (source) source.close();
  source = null;
  clearTimeout(retry);
}
// A page that nobody sees costs nobody anything.
document.addEventListener('visibilitychange', () => { if (document.hidden) { disconnect(); state('paused'); } else connect(); });
