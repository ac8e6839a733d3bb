// The timeline: a lane per stage, a bar per attempt.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CallSummary } from './call_summary';
import { clock, length, minute, span, visible } from './format';
import { useKeys, useNow, useWidth } from './hooks';
import type { ViewProps } from './run';
import { Empty, markWord } from './parts';
import { type Bar, type Lane, lanesOf, type Scale, scaleOf, type Tick, ticksOf } from './timeline_scale';
import { type Word, w } from './words';

const AXIS = 24;
const ROW = 22;
const BAR = 15;
const GAP = 9;
const LARGEST_ZOOM = 400;

type Placed = { lane: Lane; y: number; height: number };

const place = (lanes: Lane[]): { placed: Placed[]; height: number } => {
  let y = AXIS;
  const placed = lanes.map((lane) => {
    const entry = { lane, y, height: lane.rows.length * ROW + GAP };
    y += entry.height;
    return entry;
  });
  return { placed, height: y + 4 };
};

export const TimelineView = ({ run, entries, selected, select }: ViewProps): JSX.Element => {
  const isLive = run.row.is_driven || run.pauses.some((pause) => pause.until === null);
  const now = useNow(isLive);
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const [zoom, setZoom] = useState(1);
  const [left, setLeft] = useState(0);
  const anchor = useRef<{ time: number; px: number } | null>(null);

  const start = Math.min(run.row.started, ...entries.slice(0, 1).map(({ call }) => call.called));
  const end = Math.max(run.row.last, start + 10, isLive ? now : 0);
  const lanes = useMemo(() => lanesOf(run, entries, end), [entries, run.stages, isLive ? end : 0]);
  const scale = useMemo(() => scaleOf(lanes, run.pauses, start, end, Math.max(200, width - 12), zoom), [lanes, run.pauses, start, end, width, zoom]);
  const { placed, height } = useMemo(() => place(lanes), [lanes]);

  const zoomBy = (factor: number, px = width / 2): void => {
    anchor.current = { time: scale.time(left + px), px };
    setZoom((old) => Math.max(1, Math.min(LARGEST_ZOOM, old * factor)));
  };
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || !anchor.current) return;
    box.scrollLeft = scale.x(anchor.current.time) - anchor.current.px;
    anchor.current = null;
    setLeft(box.scrollLeft);
  }, [scale]);
  // Listen by hand: the wheel must not scroll the page while it zooms.
  useEffect(() => {
    const box = scroller.current;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - (box?.getBoundingClientRect().left ?? 0));
    };
    box?.addEventListener('wheel', onWheel, { passive: false });
    return () => box?.removeEventListener('wheel', onWheel);
  });
  useEffect(() => {
    const box = scroller.current;
    if (!box || !selected) return;
    const [x0, x1] = [scale.x(selected.call.called), scale.x(selected.call.ended ?? end)];
    if (x1 < box.scrollLeft || x0 > box.scrollLeft + box.clientWidth) box.scrollLeft = Math.max(0, (x0 + x1 - box.clientWidth) / 2);
  }, [selected?.call.id]);
  useKeys({ '+': () => zoomBy(1.6), '=': () => zoomBy(1.6), '-': () => zoomBy(0.625), '0': () => zoomBy(0.0001) });

  if (entries.length === 0) return <Empty>{w('tl_empty')}</Empty>;
  return (
    <>
      <div class="toolbar">
        <div class="choice" role="group" aria-label={w('t_timeline')}>
          <button type="button" aria-label={w('zoom_out')} title={w('zoom_out')} disabled={zoom <= 1} onClick={() => zoomBy(0.625)}>−</button>
          <button type="button" onClick={() => zoomBy(0.0001)}>{w('zoom_fit')}</button>
          <button type="button" aria-label={w('zoom_in')} title={w('zoom_in')} disabled={zoom >= LARGEST_ZOOM} onClick={() => zoomBy(1.6)}>+</button>
        </div>
        <Legend />
      </div>
      <div class="timeline">
        <div class="lanes" aria-hidden="true" style={{ height: `${height}px` }}>
          {placed.map(({ lane, y, height: tall }) => (
            <div key={lane.stage} class="lane" style={{ top: `${y}px`, height: `${tall}px` }}>
              <span class="lane-name" title={visible(lane.stage)}>{visible(lane.stage)}</span>
              {lane.rows.length > 1 && (
                <span class="lane-rows">
                  {lane.rows.map((row) => <span key={row.name} title={visible(row.name)}>{visible(row.name)}</span>)}
                </span>
              )}
            </div>
          ))}
        </div>
        <div class="chart" ref={scroller} tabIndex={0} role="group" aria-label={w('tl_help')}
          onScroll={(event) => setLeft(event.currentTarget.scrollLeft)}>
          <svg width={scale.width + 10} height={height} role="img" aria-label={w('tl_label', entries.length, lanes.length)}>
            <Patterns />
            <Background scale={scale} placed={placed} height={height} left={left} right={left + width} pauses={run.pauses} end={end} />
            {placed.map(({ lane, y }) =>
              lane.rows.map((row, index) => (
                <g key={`${lane.stage} ${row.name}`} transform={`translate(0 ${y + index * ROW + GAP / 2 + (ROW - BAR) / 2})`}>
                  {bars(row.bars, scale, left - 300, left + width + 300, selected?.call.id ?? '', select)}
                </g>
              )),
            )}
          </svg>
        </div>
      </div>
      <CallSummary run={run} entry={selected} now={now} />
    </>
  );
};

const Legend = (): JSX.Element => (
  <ul class="legend" aria-label={w('legend')}>
    {(['waiting', 'model', 'tools', 'pause', 'idle'] as const).map((kind) => (
      <li key={kind}><span class={`swatch swatch-${kind}`} />{w(`tl_${kind}` as Word)}</li>
    ))}
    {(['done', 'failed', 'running'] as const).map((mark) => (
      <li key={mark}><svg width="12" height="12" viewBox="-6 -6 12 12" class={`mark mark-${mark}`} aria-hidden="true"><path d={MARKS[mark]} /></svg>{markWord(mark)}</li>
    ))}
  </ul>
);

const MARKS: Record<string, string> = {
  done: 'M-4 0L-1 3L4 -3',
  failed: 'M-3.500 -3.500L3.500 3.500M3.500 -3.500L-3.500 3.500',
  running: 'M-2.500 -4L3.500 0L-2.500 4Z',
  waiting: 'M-2 -2A2 2 0 1 1 0 0.500V1.500M0 4V4.200',
  queued: 'M0 -4V0L3 2',
};

const Patterns = (): JSX.Element => (
  <defs>
    {(['pause', 'gate'] as const).map((name) => (
      <pattern key={name} id={`hatch-${name}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" class={`hatch-back-${name}`} />
        <line x1="0" y1="0" x2="0" y2="6" class={`hatch-line-${name}`} />
      </pattern>
    ))}
  </defs>
);

const tickWords = ({ at, unit }: Tick): string =>
  unit === 'minute' ? minute(at) : unit === 'second' ? clock(at) : `${clock(at)}.${String(at % 1000).padStart(3, '0')}`;

type BackgroundProps = { scale: Scale; placed: Placed[]; height: number; left: number; right: number; pauses: ViewProps['run']['pauses']; end: number };

const Background = ({ scale, placed, height, left, right, pauses, end }: BackgroundProps): JSX.Element => (
  <g>
    {placed.map(({ lane, y }) => <line key={lane.stage} class="lane-line" x1="0" x2={scale.width} y1={y} y2={y} />)}
    {ticksOf(scale, left - 100, right + 100).map((tick) => (
      <g key={tick.at}>
        <line class="tick" x1={tick.x} x2={tick.x} y1={AXIS - 6} y2={height} />
        <text class="tick-label" x={tick.x + 3} y={AXIS - 9}>{tickWords(tick)}</text>
      </g>
    ))}
    {pauses.map((pause) => {
      const [x0, x1] = [scale.x(pause.from), scale.x(pause.until ?? end)];
      return x1 < left || x0 > right || x1 - x0 < 1 ? null : (
        <rect key={pause.from} x={x0} width={x1 - x0} y={AXIS} height={height - AXIS} class="pause-span">
          <title>{`${visible(pause.why)} · ${span((pause.until ?? end) - pause.from)}`}</title>
        </rect>
      );
    })}
    {scale.segments.filter((segment) => segment.isCut && segment.x < right && segment.x + segment.width > left).map((cut) => (
      <g key={cut.from} class={cut.why === null ? 'cut' : 'cut has-why'}>
        <rect x={cut.x} y={AXIS} width={cut.width} height={height - AXIS} />
        <path d={`M${cut.x} ${AXIS}V${height}M${cut.x + cut.width} ${AXIS}V${height}`} />
        <text x={cut.x + cut.width / 2} y={AXIS - 9} text-anchor="middle">{span(cut.until - cut.from)}</text>
        <title>{`${cut.why === null ? w('tl_idle') : visible(cut.why)} · ${span(cut.until - cut.from)}`}</title>
      </g>
    ))}
  </g>
);

const TINY = 4;

/** Draws the bars in view. All tiny bars of a row and an outcome are one shape. */
const bars = (all: Bar[], scale: Scale, left: number, right: number, selected: string, select: (call: string) => void): JSX.Element[] => {
  const drawn: JSX.Element[] = [];
  const tiny: { bar: Bar; x: number }[] = [];
  const shapes = { done: '', failed: '', flags: '' };
  const covered = { done: -Infinity, failed: -Infinity };
  for (const bar of all) {
    const x0 = scale.x(bar.from);
    if (x0 > right) break;
    const x1 = Math.max(x0 + 3, scale.x(bar.until));
    if (x1 < left) continue;
    const isSelected = bar.entry.call.id === selected;
    if (x1 - x0 < TINY && !isSelected) {
      const kind = outcome(bar) === 'failed' ? 'failed' : 'done';
      tiny.push({ bar, x: x0 });
      if (x0 < covered[kind]) continue;
      covered[kind] = x0 + 3;
      shapes[kind] += `M${x0.toFixed(1)} 0h${(x1 - x0).toFixed(1)}v${BAR}h${(x0 - x1).toFixed(1)}z`;
      if (kind === 'failed') shapes.flags += `M${(x0 - 2.5).toFixed(1)} -5h8l-4 5z`;
      continue;
    }
    drawn.push(<BarShape key={`${bar.entry.call.id} ${bar.number}`} bar={bar} x0={x0} x1={x1} queued={scale.x(bar.queuedFrom)} isSelected={isSelected} select={select} />);
  }
  // A click selects the nearest bar that begins before it.
  const pick = (event: MouseEvent): void => {
    const svg = (event.currentTarget as SVGElement).ownerSVGElement;
    const x = event.clientX - (svg?.getBoundingClientRect().left ?? 0);
    const found = tiny.findLast((entry) => entry.x <= x + 1) ?? tiny[0];
    if (found) select(found.bar.entry.call.id);
  };
  if (tiny.length > 0) {
    drawn.unshift(
      <g key="tiny" class="bar tiny" onClick={pick}>
        <path class="body" d={shapes.done} />
        {shapes.failed && <path class="tiny-failed" d={shapes.failed} />}
        {shapes.flags && <path class="tiny-failed" d={shapes.flags} />}
      </g>,
    );
  }
  return drawn;
};

const outcome = (bar: Bar): string => {
  if (bar.attempt?.failure != null) return 'failed';
  const isLast = bar.number >= bar.entry.call.attempts.length;
  return isLast ? bar.entry.call.mark : 'done';
};

type BarProps = { bar: Bar; x0: number; x1: number; queued: number; isSelected: boolean; select: (call: string) => void };

const BarShape = ({ bar, x0, x1, queued, isSelected, select }: BarProps): JSX.Element => {
  const { call } = bar.entry;
  const wide = x1 - x0;
  const mark = outcome(bar);
  const time = Math.max(1, bar.until - bar.from);
  const tools = bar.attempt ? wide * Math.min(1, bar.attempt.tools_ms / time) : 0;
  const words = visible(call.label ?? (mark === 'failed' ? (bar.attempt?.failure ?? '') : ''));
  const room = Math.floor((wide - 24) / 6.3);
  const shown = words.length <= room ? words : room > 5 ? `${words.slice(0, room - 1)}…` : '';
  return (
    <g class={`bar kind-${call.kind} outcome-${mark} ${isSelected ? 'is-selected' : ''}`} data-call={call.id} onClick={() => select(call.id)}>
      <title>{`${visible(bar.entry.name)} · ${markWord(call.mark)} · ${length(time)}${words ? ` · ${words}` : ''}`}</title>
      {mark === 'queued' && <line class="queue" x1={x0} x2={x1} y1={BAR / 2} y2={BAR / 2} />}
      {x0 - queued > 1.5 && <line class="queue" x1={queued} x2={x0} y1={BAR / 2} y2={BAR / 2} />}
      <rect class="body" x={x0} y="0" width={wide} height={BAR} rx="2.5" />
      {tools > 0.8 && <rect class="tools" x={x1 - tools} y="0" width={tools} height={BAR} rx="2.5" />}
      {wide >= 15 && mark !== 'queued' && <path class="sign" transform={`translate(${x0 + 9} ${BAR / 2})`} d={MARKS[mark]} />}
      {wide < 15 && mark === 'failed' && <path class="flag" d={`M${x0 + wide / 2 - 4} -5h8l-4 5z`} />}
      {shown && <text x={x0 + 18} y={BAR - 4}>{shown}</text>}
      <rect class="frame" x={x0} y="0" width={wide} height={BAR} rx="2.500" />
    </g>
  );
};
