// The time axis of the timeline. Long idle times are cut to a fixed width.

import type { CallEntry } from './calls';
import type { PageAttempt, PagePause, RunPage } from './model';

export const CUT_WIDTH = 56;

export type Segment = { from: number; until: number; x: number; width: number; isCut: boolean; why: string | null };
export type Scale = { segments: Segment[]; width: number; x: (time: number) => number; time: (x: number) => number };
export type Tick = { x: number; at: number; unit: 'minute' | 'second' | 'millisecond' };

export type Bar = { entry: CallEntry; attempt: PageAttempt | null; from: number; until: number; queuedFrom: number; number: number };
export type Lane = { stage: string; rows: { name: string; bars: Bar[] }[] };

const MOST_ROWS = 8;

/** Bars of a call: one per attempt, or one for a call without attempts. */
const barsOf = (entry: CallEntry, now: number): Bar[] => {
  const { call } = entry;
  if (call.attempts.length === 0) {
    return [{ entry, attempt: null, from: call.called, until: call.ended ?? now, queuedFrom: call.called, number: 1 }];
  }
  let queuedFrom = call.called;
  return call.attempts.map((attempt, index) => {
    const until = attempt.ended ?? (index < call.attempts.length - 1 ? attempt.asked : (call.ended ?? now));
    const bar = { entry, attempt, from: attempt.asked, until: Math.max(until, attempt.asked), queuedFrom, number: index + 1 };
    queuedFrom = bar.until;
    return bar;
  });
};

/** Lanes in the order of the definition, with a row for each turn of a stage. */
export const lanesOf = (run: RunPage, entries: CallEntry[], now: number): Lane[] => {
  const order = new Map(run.stages.map((stage, index) => [stage.id, index]));
  const stages = new Map<string, Map<string, Bar[]>>();
  for (const entry of entries) {
    let rows = stages.get(entry.stage);
    if (!rows) stages.set(entry.stage, (rows = new Map()));
    const name = rows.size >= MOST_ROWS && !rows.has(entry.call.name) ? '…' : entry.call.name;
    let bars = rows.get(name);
    if (!bars) rows.set(name, (bars = []));
    bars.push(...barsOf(entry, now));
  }
  return [...stages]
    .sort(([a], [b]) => (order.get(a) ?? 999) - (order.get(b) ?? 999))
    .map(([stage, rows]) => ({ stage, rows: [...rows].map(([name, bars]) => ({ name, bars: bars.sort((a, b) => a.from - b.from) })) }));
};

/** Times in which no call was under way, with the pause that explains them. */
const idleTimes = (lanes: Lane[], pauses: PagePause[], start: number, end: number): { from: number; until: number; why: string | null }[] => {
  const isGate = (bar: Bar): boolean => bar.entry.call.kind === 'gate';
  const busy = lanes
    .flatMap((lane) => lane.rows.flatMap((row) => row.bars.filter((bar) => !isGate(bar))))
    .map(({ from, until }) => ({ from, until }))
    .sort((a, b) => a.from - b.from);
  const idle: { from: number; until: number; why: string | null }[] = [];
  let reached = start;
  for (const { from, until } of [...busy, { from: end, until: end }]) {
    if (from > reached) {
      const middle = (from + reached) / 2;
      const pause = pauses.find((entry) => entry.from <= middle && (entry.until ?? end) >= middle);
      idle.push({ from: reached, until: from, why: pause?.why ?? null });
    }
    reached = Math.max(reached, until);
  }
  return idle;
};

/** Builds the axis so that it fills `width` at zoom 1. */
export const scaleOf = (lanes: Lane[], pauses: PagePause[], start: number, end: number, width: number, zoom: number): Scale => {
  const idle = idleTimes(lanes, pauses, start, end);
  const idleTotal = idle.reduce((sum, gap) => sum + gap.until - gap.from, 0);
  const busyTotal = Math.max(1, end - start - idleTotal);
  // A pause gives way to the work, also in a run of milliseconds.
  const longest = (why: string | null): number =>
    why === null ? Math.max(busyTotal * 0.08, Math.min(15_000, busyTotal * 2)) : Math.max(50, busyTotal * 0.25);
  const cuts = idle.filter((gap) => gap.until - gap.from > longest(gap.why));
  const cutTotal = cuts.reduce((sum, gap) => sum + gap.until - gap.from, 0);
  const shown = Math.max(1, end - start - cutTotal);
  const perMs = (Math.max(120, width - cuts.length * CUT_WIDTH) / shown) * zoom;
  const segments: Segment[] = [];
  let [at, x] = [start, 0];
  const add = (from: number, until: number, isCut: boolean, why: string | null): void => {
    const wide = isCut ? CUT_WIDTH : (until - from) * perMs;
    segments.push({ from, until, x, width: wide, isCut, why });
    x += wide;
    at = until;
  };
  for (const cut of cuts) {
    if (cut.from > at) add(at, cut.from, false, null);
    add(cut.from, cut.until, true, cut.why);
  }
  if (end > at || segments.length === 0) add(at, Math.max(end, at + 1), false, null);
  const find = (matches: (segment: Segment) => boolean): Segment => {
    let [low, high] = [0, segments.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (matches(segments[middle] as Segment)) high = middle;
      else low = middle + 1;
    }
    return segments[low] as Segment;
  };
  const inside = (share: number): number => Math.max(0, Math.min(1, share));
  return {
    segments,
    width: x,
    x: (time) => {
      const segment = find((entry) => entry.until >= time);
      return segment.x + segment.width * inside((time - segment.from) / Math.max(1, segment.until - segment.from));
    },
    time: (place) => {
      const segment = find((entry) => entry.x + entry.width >= place);
      return segment.from + (segment.until - segment.from) * inside((place - segment.x) / Math.max(1, segment.width));
    },
  };
};

const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400].map((step) => step * 1000);
const TICK_ROOM = 84;

/** Ticks at even times in the visible part. */
export const ticksOf = (scale: Scale, left: number, right: number): Tick[] => {
  const ticks: Tick[] = [];
  let last = -Infinity;
  for (const segment of scale.segments) {
    if (segment.isCut) {
      last = segment.x + segment.width - TICK_ROOM / 2;
      continue;
    }
    if (segment.x > right || segment.x + segment.width < left || segment.width < 30) continue;
    const perMs = segment.width / Math.max(1, segment.until - segment.from);
    const step = STEPS.find((entry) => entry * perMs >= TICK_ROOM) ?? 86_400_000;
    const from = Math.max(segment.from, scale.time(Math.max(left, segment.x)));
    for (let at = Math.ceil(from / step) * step; at <= segment.until; at += step) {
      const x = scale.x(at);
      if (x > right) break;
      if (x - last >= TICK_ROOM && x + (step < 1000 ? 74 : 58) <= segment.x + segment.width) {
        ticks.push({ x, at, unit: step >= 60_000 ? 'minute' : step >= 1000 ? 'second' : 'millisecond' });
        last = x;
      }
    }
  }
  return ticks;
};
