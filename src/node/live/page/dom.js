// Elements as values, and the shortest way from those on the page to new ones.
'use strict';

const kSvg = 'http://www.w3.org/2000/svg';
const kSvgTags = new Set(['svg', 'path', 'line', 'rect', 'circle', 'text', 'g', 'title']);

// el('p', {class: 'x', onclick: f}, 'text', [more], null)
function el(tag, attributes, ...children) {
  const made = kSvgTags.has(tag) ? document.createElementNS(kSvg, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) {
      made[name] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== ''));
  return made;
}

function sameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName &&
      (a.nodeType !== 1 || a.id === b.id);
}

// Makes `old` like `fresh`: what has not changed stays, with its focus and its selection.
function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const {name, value} of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const {name} of [...old.attributes]) {
    // The reader opens and closes details.
    if (!fresh.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) {
      old.removeAttribute(name);
    }
  }
  old.onclick = fresh.onclick;
  old.onchange = fresh.onchange;
  old.oninput = fresh.oninput;
  old.onsubmit = fresh.onsubmit;
  morphChildren(old, [...fresh.childNodes]);
}

function morphChildren(parent, fresh) {
  let at = parent.firstChild;
  for (const child of fresh) {
    // A thing with a name may have moved.
    if (at && child.id && at.id !== child.id) {
      const moved = [...parent.children].find((c) => c.id === child.id);
      if (moved) {
        parent.insertBefore(moved, at);
        at = moved;
      }
    }
    if (at && sameKind(at, child)) {
      morph(at, child);
      at = at.nextSibling;
    } else {
      parent.insertBefore(child, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

// 21474836480 → "20 GiB"
function bytes(count) {
  if (count === null || count === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    ++unit;
  }
  return `${count < 10 && unit > 0 ? Math.round(count * 10) / 10 : Math.round(count)} ${units[unit]}`;
}

const percent = (value) => (value === null || value === undefined ? '–' : `${Math.round(value)} %`);
const count = (list) => (list ? list.length : 0);

// A table with a caption; rows are lists of cells, `numbers` the columns that are aligned right.
function table(caption, heads, rows, numbers = []) {
  const cell = (tag, text, i) =>
      el(tag, {class: numbers.includes(i) ? 'n' : null, scope: tag === 'th' ? 'col' : null}, text);
  return el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption},
            el('table', {}, el('caption', {class: 'hidden-text'}, caption),
               el('thead', {}, el('tr', {}, heads.map((h, i) => cell('th', h, i)))),
               el('tbody', {}, rows.map((r) => el('tr', {id: r.id || null},
                                                  r.map((c, i) => cell('td', c, i)))))));
}

// `values`: 0 to 100 or null, the oldest first, drawn to the right edge of `points` steps.
function graph(values, points, label) {
  const width = 240;
  const height = 40;
  const step = width / (points - 1);
  const first = points - values.length;
  let path = '';
  let isDrawing = false;
  values.forEach((value, i) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    const x = ((first + i) * step).toFixed(1);
    const y = (height - 1 - (value / 100) * (height - 2)).toFixed(1);
    path += `${isDrawing ? 'L' : 'M'}${x} ${y}`;
    isDrawing = true;
  });
  return el('svg', {class: 'graph', viewBox: `0 0 ${width} ${height}`, role: 'img', preserveAspectRatio: 'none',
                    'aria-label': label},
            el('line', {x1: 0, y1: height - 1, x2: width, y2: height - 1, class: 'base'}),
            el('path', {d: path || 'M0 0', class: 'line'}));
}

// `parts`: [{share: 0 to 100, class, title}]
function bar(parts, label) {
  return el('div', {class: 'bar', role: 'img', 'aria-label': label},
            parts.filter((p) => p.share > 0).map(
                (p) => el('span', {class: p.class, style: `width:${Math.min(p.share, 100).toFixed(1)}%`,
                                   title: p.title || null})));
}
