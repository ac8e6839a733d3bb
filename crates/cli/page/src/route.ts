// The location hash as a route. Every selection is part of it.

export const TABS = ['timeline', 'graph', 'transcript', 'changes', 'reports', 'findings', 'cost', 'why'] as const;
export type Tab = (typeof TABS)[number];

export type Route = {
  page: 'home' | 'plots' | 'batch' | 'search' | 'run' | 'compare' | 'unknown';
  /** Ids of runs: one for a run, two for a comparison. */
  ids: string[];
  query: URLSearchParams;
};

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

export const parseHash = (hash: string): Route => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const parts = path.split('/').filter(Boolean).map(decoded);
  const ids = parts.slice(1);
  const route = (page: Route['page']): Route => ({ page, ids, query: new URLSearchParams(query) });
  switch (parts[0]) {
    case undefined:
      return route('home');
    case 'plots':
    case 'batch':
    case 'search':
      return route(parts[0]);
    case 'run':
      return route(ids.length === 1 ? 'run' : 'unknown');
    case 'compare':
      return route(ids.length === 2 ? 'compare' : 'unknown');
    default:
      return route('unknown');
  }
};

type Values = Record<string, string | number | null | undefined>;

const hash = (path: string, values: Values): string => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(key, String(value));
  }
  const text = query.toString();
  return text ? `#/${path}?${text}` : `#/${path}`;
};

export const homeHash = (values: Values = {}): string => hash('', values);
export const plotsHash = '#/plots';
export const batchHash = '#/batch';
export const searchHash = (q: string): string => hash('search', { q });
export const runHash = (id: string, values: Values = {}): string => hash(`run/${encodeURIComponent(id)}`, values);
export const compareHash = (a: string, b: string, values: Values = {}): string =>
  hash(`compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`, values);

/** Changes the query of the current route without a new history entry. */
export const changeQuery = (values: Values, push = false): void => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const merged = new URLSearchParams(query);
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === '') merged.delete(key);
    else merged.set(key, String(value));
  }
  const text = merged.toString();
  go(text ? `#/${path}?${text}` : `#/${path}`, push);
};

/** Opens a hash; replaces the current history entry unless `push`. */
export const go = (target: string, push = true): void => {
  if (target === location.hash) return;
  if (push) location.hash = target;
  else {
    history.replaceState(null, '', target);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
};
