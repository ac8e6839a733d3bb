// The state of the page, kept current by the event stream.

import type { HomePage, PageEvent, PageRow, RunPage } from './model';
import { type Source, SourceError, wordsOf } from './source';

const rank = (row: PageRow): number => {
  switch (row.state) {
    case 'waiting':
      return 0;
    case 'running':
      return 1;
    case 'interrupted':
    case 'answered':
    case 'parked':
      return 2;
    default:
      return 3;
  }
};

export const groupOf = rank;

/** Sorts rows: waiting for a person, running, stopped, ended; newest first. */
export const sortRows = (rows: PageRow[]): PageRow[] =>
  rows.sort((a, b) => rank(a) - rank(b) || b.started - a.started || (a.id < b.id ? 1 : -1));

const merged = <T>(old: T[], changed: T[], key: (item: T) => string | number): T[] => {
  if (changed.length === 0) return old;
  const places = new Map(old.map((item, index) => [key(item), index]));
  const all = old.slice();
  for (const item of changed) {
    const place = places.get(key(item));
    if (place === undefined) {
      places.set(key(item), all.length);
      all.push(item);
    } else all[place] = item;
  }
  return all;
};

/** Returns the address of another run of the same project. */
export const relative = (row: PageRow, run: string): string => run + row.id.slice(row.run.length);

/** Returns true if an address means this run. A link may name the run without its project. */
export const isAddress = (address: string | null, row: PageRow): boolean => address === row.id || address === row.run;

/** Adds the changes of a run to what is known of it. */
export const mergeRun = (old: RunPage | null, page: RunPage): RunPage => {
  if (page.since === 0 || !old || old.row.id !== page.row.id) return page;
  return {
    ...page,
    since: 0,
    graph: page.graph || old.graph,
    visits: merged(old.visits, page.visits, (visit) => visit.index),
    calls: merged(old.calls, page.calls, (call) => call.id),
    exits: merged(old.exits, page.exits, (exit) => exit.seq),
  };
};

export class Live {
  home: HomePage | null = null;
  run: RunPage | null = null;
  /** Why the watched run cannot be shown. */
  runError: string | null = null;
  homeError: string | null = null;
  isUnauthorized = false;
  isConnected = true;
  /** The end of the output of each running call. */
  readonly output = new Map<string, string>();

  #rows = new Map<string, PageRow>();
  #watched: string | null = null;
  #stop: (() => void) | null = null;
  #frame = 0;
  #misses = 0;
  readonly #listeners = new Set<() => void>();

  constructor(readonly source: Source) {}

  /** Returns the directory of a run's project, if the page shows several. */
  directoryOf(row: PageRow): string | null {
    const projects = this.home?.projects ?? [];
    return projects.length > 1 ? (projects[row.project]?.path ?? null) : null;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads what the route needs and watches it. */
  async open(run: string | null): Promise<void> {
    if (this.#stop && run === this.#watched) return;
    this.#stop?.();
    this.#watched = run;
    this.#stop = () => {};
    this.run = null;
    this.runError = null;
    this.output.clear();
    this.#changed();
    const [home, page] = await Promise.allSettled([
      this.home ? Promise.resolve(this.home) : this.source.home(),
      run === null ? Promise.resolve(null) : this.source.run(run),
    ]);
    if (this.#watched !== run) return;
    if (home.status === 'fulfilled') {
      if (!this.home) this.#rows = new Map(home.value.runs.map((row) => [row.id, row]));
      this.home = home.value;
      this.homeError = null;
    } else this.#failed(home.reason, (words) => (this.homeError = words));
    if (page.status === 'fulfilled') this.run = page.value;
    else this.#failed(page.reason, (words) => (this.runError = words));
    this.#changed();
    this.#stop = this.source.watch({
      run,
      since: () => this.run?.last_seq ?? 0,
      onEvent: (event) => this.#take(event),
      onConnection: (isOpen) => this.#connection(isOpen),
    });
  }

  #failed(reason: unknown, say: (words: string) => void): void {
    if (reason instanceof SourceError && reason.status === 401) this.isUnauthorized = true;
    say(wordsOf(reason));
  }

  #connection(isOpen: boolean): void {
    this.isConnected = isOpen;
    this.#misses = isOpen ? 0 : this.#misses + 1;
    // A stream does not tell why it failed, so ask whether the session has ended.
    if (!isOpen && this.#misses > 1) {
      void this.source.home().catch((reason: unknown) => this.#failed(reason, () => this.#changed()));
    }
    if (isOpen && (!this.home || this.homeError)) {
      void this.source.home().then((home) => {
        this.home = home;
        this.homeError = null;
        this.isUnauthorized = false;
        this.#rows = new Map(home.runs.map((row) => [row.id, row]));
        this.#changed();
      }, () => {});
    }
    this.#changed();
  }

  #take(event: PageEvent): void {
    switch (event.kind) {
      case 'rows': {
        if (event.is_whole) this.#rows = new Map();
        for (const row of event.rows) this.#rows.set(row.id, row);
        for (const id of event.gone) this.#rows.delete(id);
        if (this.home) this.home = { ...this.home, runs: sortRows([...this.#rows.values()]) };
        break;
      }
      case 'run':
        if (!isAddress(this.#watched, event.page.row)) return;
        this.run = mergeRun(this.run, event.page);
        // A page may stay open for days, and the texts of a call have its output when it has ended.
        for (const call of event.page.calls) if (call.ended !== null) this.output.delete(call.id);
        this.runError = null;
        break;
      case 'output':
        this.output.set(event.call, event.text);
        break;
      case 'lost':
        this.runError = event.words;
        break;
    }
    this.#changed();
  }

  /** Tells the listeners once per frame, or soon in a hidden tab. */
  #changed(): void {
    if (this.#frame) return;
    const tell = (): void => {
      this.#frame = 0;
      for (const listener of this.#listeners) listener();
    };
    this.#frame = document.hidden ? window.setTimeout(tell, 250) : requestAnimationFrame(tell);
  }
}
