// place: the settings of a view in the address, after "?", so that a reload or a shared link restores them.
const base = () => location.hash.split('?')[0] || '#/fleet';
const settings = () => new URLSearchParams(location.hash.split('?')[1] || '');

export const placed = (key, otherwise = '') => settings().get(key) || otherwise;

// Replaces settings without a new entry in the browser's history; an empty value removes one.
export function place(values) {
  const all = settings();
  for (const [key, value] of Object.entries(values)) if (value) all.set(key, value); else all.delete(key);
  const text = all.toString();
  history.replaceState(null, '', text ? `${base()}?${text}` : base());
}

// A choice whose value is in the address; unknown values count as the default, which the address omits.
export function placedChoice(key, options) {
  const found = options.find(([value]) => value === placed(key));
  return { value: found ? found[0] : options[0][0], set: (value) => place({ [key]: value === options[0][0] ? '' : value }) };
}
