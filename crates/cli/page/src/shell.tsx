// The frame of every page: navigation, settings, keys.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks';
import { BatchView } from './batch';
import { CompareView } from './compare';
import { visible, when } from './format';
import { HomeView } from './home';
import { useKeys } from './hooks';
import { KeysDialog } from './keys';
import { isAddress, type Live } from './live';
import { ErrorLine, Loading } from './parts';
import { PlotsView } from './plots';
import { batchHash, go, homeHash, parseHash, plotsHash, type Route, searchHash } from './route';
import { RunView } from './run';
import { SearchView } from './search';
import { applyLanguage, applyTheme, readLanguage, readTheme, type Theme } from './settings';
import { spoken, w } from './words';

applyLanguage(readLanguage());
applyTheme(readTheme());

const NEXT_THEME: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };

export const Shell = ({ live }: { live: Live }): JSX.Element => {
  const saved = live.source.saved;
  const [, update] = useReducer((value: number) => value + 1, 0);
  const [theme, setTheme] = useState<Theme>(readTheme());
  const [hasKeys, setKeys] = useState(false);
  const parsed = parseHash(location.hash);
  const route: Route = saved ? { ...parsed, page: 'run', ids: [saved.run.row.id] } : parsed;
  const watched = route.page === 'run' ? (route.ids[0] ?? null) : null;

  useLayoutEffect(() => live.listen(() => update(0)), [live]);
  useEffect(() => {
    const onHash = (): void => update(0);
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => void live.open(watched), [live, watched]);
  useEffect(() => scrollTo(0, 0), [route.page, route.ids.join('/')]);

  const waiting = live.home?.runs.filter((row) => row.state === 'waiting').length ?? 0;
  useEffect(() => {
    const count = waiting > 0 && !saved ? `(${waiting}) ` : '';
    const run = route.page === 'run' && live.run ? `${visible(live.run.row.task).slice(0, 60)} – ` : '';
    document.title = `${count}${run}Saihai`;
  });

  useKeys({
    '?': () => setKeys(true),
    ...(saved
      ? {}
      : {
          gh: () => go(homeHash()),
          gp: () => go(plotsHash),
          gb: () => go(batchHash),
          gs: () => go(searchHash('')),
        }),
  });

  return (
    <div class="shell" key={spoken()}>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById('main')?.focus();
      }}>
        {w('skip')}
      </a>
      <header class="top">
        {saved ? <span class="brand">Saihai</span> : <a class="brand" href={homeHash()}>Saihai</a>}
        {saved ? (
          <span class="soft saved">{w('saved_by', when(saved.saved_at), `saihai ${visible(saved.program).replace(/^saihai /, '')}`)}</span>
        ) : (
          <Navigation route={route} waiting={waiting} />
        )}
        <span class="grow" />
        <span class="connection" role="status">
          {!live.isConnected && !live.isUnauthorized && w('lost')}
        </span>
        {live.home?.read_only && !saved && <span class="soft">{w('read_only')}</span>}
        <button type="button" class="quiet small" lang={spoken() === 'ja' ? 'en' : 'ja'} onClick={() => {
          applyLanguage(spoken() === 'ja' ? 'en' : 'ja');
          update(0);
        }}>
          {w('other_language')}
        </button>
        <button type="button" class="quiet small" aria-label={`${w('theme')}: ${w(`theme_${theme}`)}`} onClick={() => {
          applyTheme(NEXT_THEME[theme]);
          setTheme(NEXT_THEME[theme]);
        }}>
          <span class="wide-only">{w('theme')}: </span>{w(`theme_${theme}`)}
        </button>
        <button type="button" class="quiet small wide-only" onClick={() => setKeys(true)}>
          {w('keys')} <kbd>?</kbd>
        </button>
      </header>
      <main id="main" tabIndex={-1} class={`page-${route.page}`}>
        <Content route={route} live={live} theme={theme} />
      </main>
      {hasKeys && <KeysDialog isSaved={saved !== null} onClose={() => setKeys(false)} />}
    </div>
  );
};

const Navigation = ({ route, waiting }: { route: Route; waiting: number }): JSX.Element => {
  const entry = (page: Route['page'], target: string, words: string, count = 0): JSX.Element => (
    <a href={target} aria-current={route.page === page ? 'page' : undefined}>
      {words}
      {count > 0 && <span class="badge">{count}</span>}
    </a>
  );
  return (
    <nav aria-label={w('main_nav')}>
      {entry('home', homeHash(), w('runs'), waiting)}
      {entry('plots', plotsHash, w('plots'))}
      {entry('batch', batchHash, w('batch'))}
      {entry('search', searchHash(''), w('search'))}
    </nav>
  );
};

const Content = ({ route, live, theme }: { route: Route; live: Live; theme: Theme }): JSX.Element => {
  if (live.isUnauthorized) return <ErrorLine words={w('unauthorized')} />;
  if (!live.home) return live.homeError ? <ErrorLine words={live.homeError} /> : <Loading />;
  const id = route.ids[0] ?? '';
  switch (route.page) {
    case 'home':
      return <HomeView home={live.home} query={route.query} />;
    case 'plots':
      return <PlotsView home={live.home} theme={theme} />;
    case 'batch':
      return <BatchView source={live.source} home={live.home} />;
    case 'search':
      return <SearchView source={live.source} query={route.query} />;
    case 'compare':
      return <CompareView source={live.source} a={id} b={route.ids[1] ?? ''} query={route.query} />;
    case 'run':
      if (!live.run || !isAddress(id, live.run.row)) return live.runError ? <LostRun words={live.runError} /> : <Loading />;
      return <RunView key={id} live={live} run={live.run} query={route.query} theme={theme} />;
    default:
      return (
        <div class="panel">
          <p>{w('not_found')}</p>
          <a href={homeHash()}>{w('runs')}</a>
        </div>
      );
  }
};

const LostRun = ({ words }: { words: string }): JSX.Element => (
  <div class="panel">
    <h1>{w('lost_run')}</h1>
    <ErrorLine words={words} />
    <a href={homeHash()}>{w('runs')}</a>
  </div>
);

