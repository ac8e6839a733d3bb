// Numbers, times and texts as people read them.

import { spoken, w } from './words';

const DASH = '–';

export const count = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Formats a token count: `950`, `12.4k`, `1.3M`. */
export const tokens = (value: number): string => {
  if (value < 1000) return String(Math.round(value));
  if (value < 999_500) return `${(value / 1000).toFixed(value < 99_950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 99_500_000 ? 1 : 0)}M`;
};

export const dollars = (value: number): string =>
  value === 0 ? '$0' : value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;

/** Formats a cost. Unknown parts are never shown as zero. */
export const money = (cost: number | null, hasUnknown: boolean): string => {
  if (cost === null) return DASH;
  return hasUnknown ? `${dollars(cost)} + ?` : dollars(cost);
};

/** Formats a length: `38 ms`, `0.4 s`, `48 s`, `12:40`, `2:05:10`. */
export const length = (ms: number): string => {
  if (ms < 0) return DASH;
  if (ms < 100) return ms === 0 ? '0 s' : `${Math.round(ms)} ms`;
  if (ms < 1000) return `${(ms / 1000).toFixed(1)} s`;
  const all = Math.floor(ms / 1000);
  if (all < 60) return `${all} s`;
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
};

/** Formats a long span so that it does not look like a time of day: `45 s`, `32 min`, `15 h 36 m`, `3 d 4 h`. */
export const span = (ms: number): string => {
  const minutes = Math.round(ms / 60_000);
  if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} m` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

const locale = (): string => (spoken() === 'ja' ? 'ja-JP' : 'en-GB');
const formats = new Map<string, Intl.DateTimeFormat>();
const format = (key: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const name = `${locale()} ${key}`;
  let found = formats.get(name);
  if (!found) {
    found = new Intl.DateTimeFormat(locale(), options);
    formats.set(name, found);
  }
  return found;
};

export const clock = (at: number): string =>
  format('clock', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }).format(at);

export const minute = (at: number): string => format('time', { hour: '2-digit', minute: '2-digit', hour12: false }).format(at);

/** Formats a time: today as `14:05`, else `6 Feb 14:05`. */
export const when = (at: number, now = Date.now()): string => {
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString();
  const time: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hour12: false };
  if (sameDay) return format('time', time).format(at);
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return sameYear
    ? format('day', { day: 'numeric', month: 'short', ...time }).format(at)
    : format('year', { day: 'numeric', month: 'short', year: 'numeric' }).format(at);
};

export const fullTime = (at: number): string =>
  format('full', { dateStyle: 'medium', timeStyle: 'medium', hour12: false }).format(at);

export const bytes = (value: number): string => (value < 1024 ? `${value} B` : `${(value / 1024).toFixed(1)} KB`);

export const linesWord = (value: number): string => (value === 1 ? w('one_line') : w('n_lines', count(value)));

export const runsWord = (value: number): string => (value === 1 ? w('one_run') : w('n_runs', count(value)));

// Controls, text direction marks, invisible separators, tag characters and our own marks.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ue000-\ue001\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** Makes control characters and text direction marks visible: ESC becomes `␛`. */
export const visible = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '␡';
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });

/** Quotes a text as one word of a shell command. */
export const shellQuoted = (text: string): string =>
  /^[\w./:=,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export const isWebAddress = (address: string): boolean => /^https?:\/\/[^\s]+$/i.test(address);
