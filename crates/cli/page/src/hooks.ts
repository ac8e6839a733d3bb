// Hooks that several views share.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';
import { wordsOf } from './source';

/** Returns the current time, again every second while `isTicking`. */
export const useNow = (isTicking: boolean): number => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
};

export type Loaded<T> = { value: T | null; error: string | null };

/** Loads a value whenever `key` changes; keeps the old one until then if `keeps`. */
export const useLoaded = <T>(key: string | null, load: () => Promise<T>, keeps = false): Loaded<T> => {
  const [state, setState] = useState<Loaded<T> & { key: string | null }>({ key: null, value: null, error: null });
  useEffect(() => {
    if (key === null) return;
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setState({ key, value, error: null }),
      (error: unknown) => isCurrent && setState({ key, value: null, error: wordsOf(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state.key === key || keeps ? state : { value: null, error: null };
};

/** Returns whether a media query matches. */
export const useMedia = (query: string): boolean => {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const update = (): void => setMatches(list.matches);
    update();
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
};

/** Returns the width of an element. */
export const useWidth = (ref: RefObject<HTMLElement | null>, first = 800): number => {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const update = (): void => setWidth(element.clientWidth || first);
    update();
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref.current]);
  return width;
};

export type Windowed = { first: number; last: number; before: number; after: number };

/** Sums of heights: `sums[i]` is where item `i` begins. */
export const heightSums = (heights: number[]): number[] => {
  const sums = [0];
  for (const height of heights) sums.push((sums.at(-1) ?? 0) + height);
  return sums;
};

const itemAt = (sums: number[], y: number): number => {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((sums[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return low;
};

const MARGIN = 400;

/** Returns the items of a long list that are in view. Without `scroller` the page itself scrolls. */
export const useWindowed = (
  sums: number[],
  list: RefObject<HTMLElement | null>,
  scroller: RefObject<HTMLElement | null> | null,
): Windowed => {
  const [range, setRange] = useState({ top: 0, height: 900 });
  useLayoutEffect(() => {
    const update = (): void => {
      const element = list.current;
      if (!element) return;
      const box = scroller?.current;
      const top = box ? box.scrollTop : Math.max(0, -element.getBoundingClientRect().top);
      const height = box ? box.clientHeight : innerHeight;
      setRange((old) => (Math.abs(old.top - top) < 120 && old.height === height ? old : { top, height }));
    };
    update();
    const target: HTMLElement | Window = scroller?.current ?? window;
    target.addEventListener('scroll', update, { passive: true });
    addEventListener('resize', update);
    return () => {
      target.removeEventListener('scroll', update);
      removeEventListener('resize', update);
    };
  }, [sums, scroller?.current]);
  const total = sums.at(-1) ?? 0;
  const items = sums.length - 1;
  const first = Math.min(itemAt(sums, Math.max(0, range.top - MARGIN)), Math.max(0, items - 1));
  const last = Math.min(items, itemAt(sums, range.top + range.height + MARGIN) + 1);
  return { first, last, before: sums[first] ?? 0, after: Math.max(0, total - (sums[last] ?? total)) };
};

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && /^(checkbox|radio|button|range)$/.test(target.type));

let pendingG = 0;

/** Binds keys while the component is shown. `g h` is written as `gh`. */
export const useKeys = (keys: KeyMap): void => {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      // An open dialog handles its own keys, also Esc.
      if (document.querySelector('dialog[open]')) return;
      if (isTyping(event.target) && event.key !== 'Escape') return;
      const isSecond = Date.now() - pendingG < 1000;
      const name = isSecond && event.key.length === 1 && event.key !== 'g' ? `g${event.key}` : event.key;
      if (event.key === 'g' && !isSecond) {
        pendingG = Date.now();
        return;
      }
      const isPress = event.target instanceof HTMLElement && event.target.closest('a,button,summary,label,select');
      if ((event.key === 'Enter' || event.key === ' ') && isPress) return;
      const action = current.current[name];
      if (!action) return;
      pendingG = 0;
      event.preventDefault();
      action(event);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
};
