// Search in the shown texts. Matches are painted by the browser, so the texts do not change.

const MOST = 2000;

/** Finds a text in the text nodes of an element. */
export const findRanges = (root: Node, wanted: string): Range[] => {
  const text = wanted.toLowerCase();
  const ranges: Range[] = [];
  if (!text) return ranges;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST; node = walker.nextNode()) {
    const content = (node.nodeValue ?? '').toLowerCase();
    for (let at = content.indexOf(text); at >= 0 && ranges.length < MOST; at = content.indexOf(text, at + text.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + text.length, (node.nodeValue ?? '').length));
      ranges.push(range);
    }
  }
  return ranges;
};

/** Paints all matches and the current one. */
export const paint = (ranges: Range[], current: number): void => {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete('found');
  CSS.highlights.delete('found-current');
  if (ranges.length === 0) return;
  CSS.highlights.set('found', new Highlight(...ranges));
  const range = ranges[current];
  if (range) CSS.highlights.set('found-current', new Highlight(range));
};

/** Opens folded parts around a match and scrolls to it. */
export const reveal = (range: Range | undefined): void => {
  let element = range?.startContainer.parentElement ?? null;
  element?.scrollIntoView({ block: 'center' });
  for (; element; element = element.parentElement) {
    if (element instanceof HTMLDetailsElement) element.open = true;
  }
  range?.startContainer.parentElement?.scrollIntoView({ block: 'center' });
};
