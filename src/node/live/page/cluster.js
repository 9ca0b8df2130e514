// The page of a cluster: a map of its nodes, and tables of who has what.
'use strict';

const kRowsShown = 100;
const kCell = 9;
const kPerNode = 8;

let mapPlaces = [];

// 'used', 'bad', 'other' (on a cordoned node) or 'free' for each GPU of a node.
function cellsOf(node) {
  const cells = [];
  for (const [kind, number] of [['used', node.used], ['bad', node.unhealthy], ['other', node.cordoned]]) {
    for (let i = 0; i < number; ++i) cells.push(kind);
  }
  while (cells.length < node.total) cells.push('free');
  return cells;
}

// A block for each node, as many in a row as the width has room for.
function drawMap(canvas, nodes) {
  const width = canvas.clientWidth || 800;
  const scale = window.devicePixelRatio || 1;
  const block = 4 * kCell + 6;
  const perRow = Math.max(1, Math.floor((width - 8) / block));
  const rowsOf = (node) => Math.max(1, Math.ceil(Math.max(node.total, kPerNode) / 4));
  const tall = Math.max(2, ...nodes.map(rowsOf)) * kCell + 6;
  const height = Math.ceil(nodes.length / perRow) * tall + 8;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
  }
  const style = getComputedStyle(document.documentElement);
  const colors = {free: style.getPropertyValue('--u0'), used: style.getPropertyValue('--u1'), bad: style.getPropertyValue('--bad'), other: style.getPropertyValue('--other')};
  const draw = canvas.getContext('2d');
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.clearRect(0, 0, width, height);
  mapPlaces = nodes.map((node, i) => {
    const x = 6 + (i % perRow) * block;
    const y = 6 + Math.floor(i / perRow) * tall;
    cellsOf(node).forEach((kind, k) => {
      draw.fillStyle = colors[kind];
      draw.fillRect(x + (k % 4) * kCell, y + Math.floor(k / 4) * kCell, kCell - 2, kCell - 2);
    });
    return {x, y, width: block, height: tall, node};
  });
}

function nodeAt(event) {
  const place = mapPlaces.find((p) => event.offsetX >= p.x && event.offsetX < p.x + p.width &&
                                      event.offsetY >= p.y && event.offsetY < p.y + p.height);
  return place ? place.node : null;
}

function nodeText(node) {
  return `${node.name}: ${node.model || '?'}, ${node.used} / ${node.total} ${t('inUse')}` +
      (node.ready ? (node.unhealthy ? `, ${node.unhealthy} ${t('unhealthy')}` : '') : `, ${node.problem || t('notReady')}`);
}

function map(nodes) {
  const canvas = el('canvas', {
    id: 'map', role: 'img', 'aria-label': t('mapLabel'),
    onclick: (event) => {
      const node = nodeAt(event);
      if (node) setFilter(node.name);
    },
  });
  // Once it is on the page and has a width.
  requestAnimationFrame(() => {
    const shown = document.getElementById('map');
    if (!shown) return;
    drawMap(shown, nodes);
    shown.onmousemove = (event) => {
      const node = nodeAt(event);
      shown.title = node ? nodeText(node) : '';
    };
  });
  return canvas;
}

function groupTable(caption, head, groups) {
  const numbers = (g) => [g.total, g.used, g.free, g.unhealthy, g.cordoned].map(String);
  return table(caption, [head, t('total'), t('used'), t('free'), t('unhealthy'), t('cordoned')],
               groups.map((g) => [g.name || t('noPool'), ...numbers(g)]), [1, 2, 3, 4, 5]);
}

function clusterView(page, filter) {
  const wanted = filter.toLowerCase();
  const shown = page.nodes.filter((n) => !wanted ||
      `${n.name} ${n.model} ${n.problem} ${n.ready ? '' : t('notReady')} ${n.unhealthy ? t('unhealthy') : ''}`.toLowerCase().includes(wanted));
  const sum = (f) => page.nodes.reduce((all, n) => all + f(n), 0);
  const rows = shown.slice(0, kRowsShown).map((n) => [
    n.name, n.model || '–', String(n.total), String(n.used), String(n.unhealthy),
    n.ready ? t('ready') : el('span', {class: 'bad'}, n.problem || t('notReady'))]);
  return [
    el('section', {id: 'summary', 'aria-label': t('summary')},
       el('dl', {class: 'numbers'}, [[t('nodes'), page.nodes.length], [t('gpus'), sum((n) => n.total)], [t('inUse'), sum((n) => n.used)],
                                     [t('free'), sum((n) => n.free)], [t('unhealthy'), sum((n) => n.unhealthy)]]
           .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, String(value)))))),
    page.problem ? el('p', {class: 'bad'}, page.problem) : null,
    page.notRead.map((text) => el('p', {class: 'warn'}, text)),
    el('section', {id: 'nodes'}, el('h2', {}, t('nodes')), map(shown),
       el('p', {class: 'legend'}, el('span', {class: 'u0'}), t('free'), el('span', {class: 'u1'}), t('inUse'),
          el('span', {class: 'fault'}), t('unhealthy'), el('span', {class: 'other'}), t('cordoned')),
       table(t('nodes'), [t('node'), t('model'), t('total'), t('used'), t('unhealthy'), t('stateHead')], rows, [2, 3, 4]),
       shown.length > kRowsShown ? el('p', {}, t('more').replace('N', String(shown.length - kRowsShown))) : null),
    el('section', {id: 'models'}, el('h2', {}, t('models')), groupTable(t('models'), t('model'), page.models)),
    el('section', {id: 'pools'}, el('h2', {}, t('pools')), groupTable(t('pools'), t('resource'), page.pools)),
    el('section', {id: 'namespaces'}, el('h2', {}, t('namespaces')),
       table(t('namespaces'), [t('namespace'), t('used'), t('pending'), t('pods')],
             page.namespaces.map((n) => [n.name, String(n.used), String(n.pending), String(n.pods)]), [1, 2, 3])),
  ];
}

window.addEventListener('resize', () => {
  const canvas = document.getElementById('map');
  if (canvas) drawMap(canvas, mapPlaces.map((p) => p.node));
});
