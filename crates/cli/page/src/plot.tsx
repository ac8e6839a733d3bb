// A plot drawn by uPlot in the colours of the theme.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useWidth } from './hooks';
import { spoken } from './words';

export type Colours = (name: string) => string;

/** Returns a function that turns a custom property into a colour that a canvas understands. */
const coloursOf = (element: HTMLElement): Colours => {
  const probe = document.createElement('span');
  element.append(probe);
  const known = new Map<string, string>();
  return (name) => {
    let colour = known.get(name);
    if (colour === undefined) {
      probe.style.color = `var(--${name})`;
      colour = getComputedStyle(probe).color;
      known.set(name, colour);
    }
    return colour;
  };
};

const FONT = '11px ui-sans-serif, system-ui, sans-serif';

/** Makes the axis options that all plots share. */
export const axis = (colour: Colours, more: uPlot.Axis = {}): uPlot.Axis => ({
  gap: 4,
  stroke: colour('soft'),
  font: FONT,
  grid: { stroke: colour('edge'), width: 1 },
  ticks: { stroke: colour('edge'), width: 1, size: 4 },
  ...more,
});

/** Day names in the language of the page, for axes of days. */
export const dayName = (seconds: number): string =>
  new Intl.DateTimeFormat(spoken() === 'ja' ? 'ja-JP' : 'en-GB', { day: 'numeric', month: 'short' }).format(seconds * 1000);

/** Fills an area of the canvas with diagonal lines. */
export const hatch = (plot: uPlot, from: number, until: number, colour: string): void => {
  const { ctx, bbox } = plot;
  const left = Math.max(bbox.left, plot.valToPos(from, 'x', true));
  const right = Math.min(bbox.left + bbox.width, Math.max(plot.valToPos(until, 'x', true), left + 3));
  if (right <= left) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.strokeStyle = colour;
  ctx.globalAlpha = 0.35;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  const gap = 7 * devicePixelRatio;
  for (let x = left - bbox.height; x < right; x += gap) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
};

type Props = {
  label: string;
  height: number;
  data: uPlot.AlignedData;
  /** Draw again when this changes, besides data and width. */
  version: string;
  options: (colour: Colours) => Omit<uPlot.Options, 'width' | 'height'>;
};

export const Plot = ({ label, height, data, version, options }: Props): JSX.Element => {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const width = useWidth(box, 600);
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot({ legend: { show: false }, ...options(coloursOf(element)), width, height }, data, element);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
      element.replaceChildren();
    };
  }, [version, width, isDark]);
  useEffect(() => plot.current?.setData(data), [data]);
  return <div class="plot" ref={box} role="img" aria-label={label} />;
};
