// The filters of the list of runs. They are part of the address.

import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useMemo } from 'preact/hooks';
import { visible } from './format';
import type { HomePage, PageRow } from './model';
import { stateWord } from './parts';
import { changeQuery } from './route';
import { type Word, w } from './words';

const NAMES = ['state', 'definition', 'provider', 'issue', 'project', 'text'] as const;
type Name = (typeof NAMES)[number];
export type FilterValues = Record<Name, string>;

export const readFilters = (query: URLSearchParams): FilterValues =>
  Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? ''])) as FilterValues;

export const matchesRow = (row: PageRow, filters: FilterValues): boolean => {
  if (filters.state && row.state !== filters.state) return false;
  if (filters.definition && row.definition !== filters.definition) return false;
  if (filters.provider && !row.providers.includes(filters.provider)) return false;
  if (filters.issue && row.issue !== filters.issue) return false;
  if (filters.project && String(row.project) !== filters.project) return false;
  if (!filters.text) return true;
  const text = `${row.run} ${row.task} ${row.definition} ${row.issue ?? ''} ${row.stage ?? ''} ${row.words}`.toLowerCase();
  return filters.text.toLowerCase().split(/\s+/).every((part) => text.includes(part));
};

const sorted = (values: Iterable<string>): string[] => [...new Set(values)].filter(Boolean).sort();

type Props = { home: HomePage; filters: FilterValues; search: RefObject<HTMLInputElement | null>; children: ComponentChildren };

export const Filters = ({ home, filters, search, children }: Props): JSX.Element => {
  const options = useMemo(
    () => ({
      state: sorted(home.runs.map((row) => row.state)),
      definition: sorted(home.runs.map((row) => row.definition)),
      provider: sorted(home.runs.flatMap((row) => row.providers)),
      issue: sorted(home.runs.map((row) => row.issue ?? '')),
      project: home.projects.length > 1 ? home.projects.map((_, index) => String(index)) : [],
    }),
    [home],
  );
  const words = (name: Name, value: string): string => {
    if (name === 'state') return stateWord(value as PageRow['state']);
    if (name === 'project') return visible(home.projects[Number(value)]?.name ?? value);
    return visible(value);
  };
  const select = (name: Exclude<Name, 'text'>): JSX.Element | null =>
    options[name].length > 1 || filters[name] ? (
      <select aria-label={w(`filter_${name}` as Word)} value={filters[name]} class={filters[name] ? 'is-set' : ''}
        onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}>
        <option value="">{w(`filter_${name}` as Word)}</option>
        {options[name].map((value) => <option key={value} value={value}>{words(name, value)}</option>)}
      </select>
    ) : null;
  const isSet = NAMES.some((name) => filters[name]);
  return (
    <div class="filters" role="search" aria-label={w('filters')}>
      <input ref={search} type="search" placeholder={w('filter_text')} aria-label={w('filter_text')} value={filters.text}
        onInput={(event) => changeQuery({ text: event.currentTarget.value })} />
      {select('state')}
      {select('definition')}
      {select('provider')}
      {select('issue')}
      {select('project')}
      {isSet && (
        <button type="button" class="quiet small" onClick={() => changeQuery(Object.fromEntries(NAMES.map((name) => [name, null])))}>
          {w('clear')}
        </button>
      )}
      {children}
    </div>
  );
};
