// The list of keys.

import type { JSX } from 'preact';
import { Dialog } from './parts';
import { type Word, w } from './words';

const KEYS: readonly (readonly [string[], Word, boolean])[] = [
  [['j', 'k'], 'key_move', true],
  [['Enter'], 'key_open', false],
  [['Esc'], 'key_back', true],
  [['/'], 'key_filter', true],
  [['1', '–', '8'], 'key_tabs', true],
  [['+', '−', '0'], 'key_zoom', true],
  [['v', 'e'], 'key_jump', true],
  [['a'], 'key_answer', false],
  [['t'], 'key_tell', false],
  [['x'], 'key_pick', false],
  [['g', 'h'], 'key_home', false],
  [['g', 'p'], 'key_plots', false],
  [['g', 'b'], 'key_batch', false],
  [['g', 's'], 'key_search', false],
  [['?'], 'key_help', true],
];

export const KeysDialog = ({ isSaved, onClose }: { isSaved: boolean; onClose: () => void }): JSX.Element => (
  <Dialog title={w('keys_title')} onClose={onClose}>
    <dl class="keys">
      {KEYS.filter(([, , isEverywhere]) => isEverywhere || !isSaved).map(([keys, words]) => (
        <div key={words}>
          <dt>{keys.map((key) => (key === '–' ? ' – ' : <kbd key={key}>{key}</kbd>))}</dt>
          <dd>{w(words)}</dd>
        </div>
      ))}
    </dl>
  </Dialog>
);
