// Entry of the page.

import 'uplot/dist/uPlot.min.css';
import './css/app.css';
import { render } from 'preact';
import { Shell } from './shell';
import { findSource } from './source';
import { Live } from './live';

const root = document.getElementById('app');
if (root) render(<Shell live={new Live(findSource())} />, root);
