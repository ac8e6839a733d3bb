// Where the page gets its data: a server, or the JSON in a saved file.

import type {
  BatchPage,
  CallTexts,
  HomePage,
  PageEvent,
  PageReply,
  ReportText,
  RunChanges,
  RunPage,
  SavedPage,
  SearchPage,
} from './model';
import { w } from './words';

export type Action =
  | { name: 'answer'; body: { call: string; yes: boolean | null; text: string | null } }
  | { name: 'tell'; body: { text: string; stage: string | null; now: boolean } }
  | { name: 'withdraw'; body: { note: number } }
  | { name: 'cancel'; body: Record<string, never> }
  | { name: 'resume'; body: { budget: string | null; max_iterations: number | null } }
  | { name: 'fork'; body: { at: number | null } };

export type Watch = {
  run: string | null;
  /** Returns the last event of the run that the page knows. */
  since: () => number;
  onEvent: (event: PageEvent) => void;
  onConnection: (isOpen: boolean) => void;
};

export interface Source {
  readonly saved: SavedPage | null;
  home(): Promise<HomePage>;
  run(id: string): Promise<RunPage>;
  texts(run: string, call: string): Promise<CallTexts>;
  /** Returns the address of a text that is not cut. A saved file has none. */
  wholeText(run: string, call: string, text: 'prompt' | 'reply'): string | null;
  report(run: string, seq: number, file: string): Promise<ReportText>;
  changes(run: string): Promise<RunChanges>;
  search(text: string): Promise<SearchPage>;
  batch(): Promise<BatchPage>;
  act(run: string, action: Action): Promise<PageReply>;
  /** Watches all rows and one run. Returns a function that stops. */
  watch(watch: Watch): () => void;
}

/** A failure in words for a person. */
export class SourceError extends Error {
  constructor(
    words: string,
    readonly status: number,
  ) {
    super(words);
  }
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const request = async <T>(path: string, body?: unknown): Promise<T> => {
  let response: Response;
  try {
    response = await fetch(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      cache: 'no-store',
      redirect: 'error',
    });
  } catch {
    throw new SourceError(w('unreachable'), 0);
  }
  if (response.status === 401) throw new SourceError(w('unauthorized'), 401);
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer as T;
  const words = (answer as PageReply | null)?.words;
  throw new SourceError(typeof words === 'string' ? words : `HTTP ${response.status}`, response.status);
};

const FIRST_RETRY = 500;
const LAST_RETRY = 8000;

export class ServerSource implements Source {
  readonly saved = null;

  home = (): Promise<HomePage> => request('api/home');
  run = (id: string): Promise<RunPage> => request(this.#path(id));
  texts = (run: string, call: string): Promise<CallTexts> => request(`${this.#path(run)}/calls/${encodeURIComponent(call)}`);
  wholeText = (run: string, call: string, text: string): string => `${this.#path(run)}/calls/${encodeURIComponent(call)}/whole/${text}`;
  report = (run: string, seq: number, file: string): Promise<ReportText> =>
    request(`${this.#path(run)}/reports/${seq}?file=${encodeURIComponent(file)}`);
  changes = (run: string): Promise<RunChanges> => request(`${this.#path(run)}/changes`);
  search = (text: string): Promise<SearchPage> => request(`api/search?q=${encodeURIComponent(text)}`);
  batch = (): Promise<BatchPage> => request('api/batch');
  act = (run: string, action: Action): Promise<PageReply> => request(`${this.#path(run)}/${action.name}`, action.body);

  #path = (run: string): string => `api/runs/${encodeURIComponent(run)}`;

  watch({ run, since, onEvent, onConnection }: Watch): () => void {
    let stream: EventSource | null = null;
    let timer = 0;
    let wait = FIRST_RETRY;
    const open = (): void => {
      const query = run === null ? '' : `?run=${encodeURIComponent(run)}&since=${since()}`;
      stream = new EventSource(`api/events${query}`);
      stream.onopen = () => {
        wait = FIRST_RETRY;
        onConnection(true);
      };
      stream.onmessage = (message) => onEvent(JSON.parse(String(message.data)) as PageEvent);
      // The address names the last known event, so a broken stream is opened again by hand.
      stream.onerror = () => {
        stream?.close();
        onConnection(false);
        timer = window.setTimeout(open, wait);
        wait = Math.min(wait * 2, LAST_RETRY);
      };
    };
    open();
    return () => {
      clearTimeout(timer);
      stream?.close();
    };
  }
}

export class SavedSource implements Source {
  #texts: Map<string, CallTexts>;

  constructor(readonly saved: SavedPage) {
    this.#texts = new Map(saved.texts.map((texts) => [texts.call, texts]));
  }

  home = async (): Promise<HomePage> => ({
    version: this.saved.version,
    projects: [],
    read_only: true,
    runs: [this.saved.run.row],
    errors: [],
  });
  run = async (): Promise<RunPage> => this.saved.run;
  texts = async (_run: string, call: string): Promise<CallTexts> =>
    this.#texts.get(call) ?? { call, prompt: null, reply: null, live: null, failures: [], tools: [], reports: [], results: [], is_cut: false };
  wholeText = (): null => null;
  report = async (_run: string, seq: number, file: string): Promise<ReportText> => {
    const found = this.saved.reports.find((report) => report.seq === seq && report.file === file);
    if (!found) throw new SourceError(w('no_text'), 404);
    return found;
  };
  changes = async (): Promise<RunChanges> => this.saved.changes;
  search = (): Promise<SearchPage> => this.#absent();
  batch = (): Promise<BatchPage> => this.#absent();
  act = (): Promise<PageReply> => this.#absent();
  watch = (): (() => void) => () => {};

  #absent = (): Promise<never> => Promise.reject(new SourceError(w('not_found'), 404));
}

/** Reads the data of a saved file from its `<script id="saved">`. */
export const findSource = (): Source => {
  const element = document.getElementById('saved');
  return element?.textContent ? new SavedSource(JSON.parse(element.textContent) as SavedPage) : new ServerSource();
};
