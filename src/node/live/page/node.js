// The page of one node.
'use strict';

const kHistoryPoints = 240;

function userName(user) {
  return user.pod ? `${user.namespace}/${user.pod}` : user.namespace;
}

// A function's GPU is lent to "fn/NAME/REPLICA".
function functionOf(gpu) {
  const found = /^fn\/([^/]+)/.exec(gpu.lentTo || '');
  return found ? found[1] : null;
}

function health(device) {
  if (device.healthy) return null;
  return el('p', {class: 'bad'}, el('strong', {}, labelled('unhealthy', device.reason)), ' ', device.message);
}

function memoryBar(device, users) {
  const memory = device.memory;
  if (!memory || !memory.total) return null;
  const part = (n) => (100 * n) / memory.total;
  const parts = [];
  let known = 0;
  users.forEach((user, i) => {
    const used = user.memory.used || 0;
    known += used;
    parts.push({share: part(used), class: `u${i % 6}`, title: `${userName(user)}: ${bytes(used)}`});
  });
  parts.push({share: part(Math.max(memory.used - known, 0)), class: 'other', title: t('others')});
  const text = `${bytes(memory.used)} / ${bytes(memory.total)}`;
  return el('div', {class: 'fact'}, el('span', {}, t('memory')), bar(parts, labelled('memory', text)),
            el('span', {class: 'value'}, text));
}

function processList(processes) {
  return processes.map((p) => `${p.name || '?'} (${p.pid})`).join(', ');
}

function users(list, others) {
  const items = list.map((user) => {
    const limit = user.memory.limit ? ` / ${bytes(user.memory.limit)}` : '';
    return el('li', {}, el('strong', {}, userName(user)), user.container ? ` · ${user.container}` : '',
              user.claim ? ` · ${t('claim')} ${user.claim}` : '',
              user.memory.used !== null || limit ? ` · ${bytes(user.memory.used)}${limit}` : '',
              user.sm !== null ? ` · ${percent(user.sm)}` : '',
              count(user.processes) ? el('small', {}, ' ', processList(user.processes)) : null);
  });
  if (count(others)) {
    items.push(el('li', {}, el('strong', {}, t('outside')), el('small', {}, ' ', processList(others))));
  }
  return items.length ? el('ul', {class: 'users'}, items) : null;
}

// The MIG devices in the order of their places, with what is free between them.
function migStrip(gpu) {
  if (!gpu.migEnabled) return null;
  const all = gpu.mig.slice().sort((a, b) => (a.start || 0) - (b.start || 0));
  return el('div', {}, el('div', {class: 'mig', role: 'list', 'aria-label': t('migLayout')},
                          all.map((mig) => el('span', {
                            role: 'listitem',
                            class: mig.healthy ? (count(mig.users) ? 'busy' : 'free') : 'bad',
                            style: `flex-grow:${Math.max(mig.slices, 1)}`,
                            title: `${mig.uuid} ${mig.pool || ''}`,
                          }, mig.profile)),
                          all.length ? null : el('span', {role: 'listitem', class: 'free'}, t('noMig'))),
            all.map((mig) => [health(mig), count(mig.users)
                                ? el('div', {class: 'part'}, el('h4', {}, `MIG ${mig.profile}`), memoryBar(mig, mig.users),
                                     users(mig.users, [])) : null]));
}

function fact(name, value) {
  return value === null || value === '–' ? null : el('div', {}, el('dt', {}, name), el('dd', {}, value));
}

function gpuTile(gpu) {
  const lent = functionOf(gpu);
  const load = gpu.utilization.gpu;
  const temperature = gpu.temperature.gpu === null ? null : `${gpu.temperature.gpu} °C`;
  const power = gpu.power.watts === null ? null
      : `${Math.round(gpu.power.watts)} W${gpu.power.limit ? ` / ${Math.round(gpu.power.limit)} W` : ''}`;
  const clock = gpu.clocks.sm === null ? null : `${gpu.clocks.sm} MHz`;
  return el('article', {class: `gpu${gpu.healthy ? '' : ' unhealthy'}`, id: `gpu-${gpu.index}`, tabindex: '-1',
                        'aria-label': `GPU ${gpu.index}, ${gpu.model}, ${gpu.healthy ? t('healthy') : t('unhealthy')}`},
            el('h3', {}, `GPU ${gpu.index} `, el('small', {}, gpu.model)),
            health(gpu), gpu.warnings.map((w) => el('p', {class: 'warn'}, w)),
            count(gpu.throttled) ? el('p', {class: 'warn'}, labelled('throttled', gpu.throttled.join(', '))) : null,
            graph(gpu.history.utilization, kHistoryPoints, `${t('utilization')}, ${t('lastHour')}`),
            el('div', {class: 'fact'}, el('span', {}, t('utilization')),
               bar([{share: load || 0, class: 'load'}], labelled('utilization', percent(load))),
               el('span', {class: 'value'}, percent(load))),
            memoryBar(gpu, gpu.users),
            el('dl', {}, fact(t('temperature'), temperature), fact(t('power'), power), fact(t('clock'), clock),
               fact(t('pool'), gpu.pool || null), fact(t('lent'), lent ? null : gpu.lentTo || null),
               fact(t('function'), lent)),
            migStrip(gpu), users(gpu.users, gpu.processes));
}

// GPUs by NUMA node; a line for each pair with NVLink, as thick as it has links.
function topology(gpus) {
  const nodes = [...new Set(gpus.map((g) => (g.numaNode === null ? -1 : g.numaNode)))].sort((a, b) => a - b);
  const place = new Map();
  const columns = Math.max(1, ...nodes.map((n) => gpus.filter((g) => (g.numaNode ?? -1) === n).length));
  const parts = [];
  nodes.forEach((node, row) => {
    const y = 20 + row * 110;
    parts.push(el('rect', {x: 4, y: y - 14, width: columns * 84 + 8, height: 92, rx: 6, class: 'numa'}),
               el('text', {x: 12, y: y + 2}, node < 0 ? 'NUMA ?' : `NUMA ${node}`));
    gpus.filter((g) => (g.numaNode ?? -1) === node).forEach((gpu, i) => {
      place.set(gpu.index, {x: 50 + i * 84, y: y + 40, row});
    });
  });
  const lines = [];
  for (const gpu of gpus) {
    for (const link of gpu.nvlinks) {
      const a = place.get(gpu.index);
      const b = place.get(link.peer);
      if (!a || !b || link.peer < gpu.index) continue;
      // Links within a row pass below each other.
      const middle = a.row === b.row ? Math.max(a.y, b.y) + 14 + Math.abs(a.x - b.x) / 14 : (a.y + b.y) / 2;
      lines.push(el('path', {class: 'link', 'stroke-width': Math.min(1 + link.links / 9, 4),
                             d: `M${a.x} ${a.y}Q${(a.x + b.x) / 2} ${middle} ${b.x} ${b.y}`},
                    el('title', {}, `GPU ${gpu.index} – GPU ${link.peer}: ${link.links} NVLink`)));
    }
  }
  const circles = gpus.map((gpu) => {
    const at = place.get(gpu.index);
    return el('g', {}, el('circle', {cx: at.x, cy: at.y, r: 17, class: gpu.healthy ? 'ok' : 'bad'}),
              el('text', {x: at.x, y: at.y + 5, 'text-anchor': 'middle', class: 'index'}, String(gpu.index)));
  });
  const pairs = gpus.flatMap((g) => g.nvlinks.filter((l) => l.peer > g.index)
      .map((l) => `${g.index}–${l.peer} (${l.links})`));
  const label = pairs.length ? `NVLink: ${pairs.slice(0, 40).join(', ')}` : t('noNvlink');
  return el('figure', {}, el('svg', {class: 'topology', role: 'img', 'aria-label': label,
                                     viewBox: `0 0 ${columns * 84 + 20} ${nodes.length * 110 + 10}`}, parts, lines, circles),
            el('figcaption', {}, pairs.length ? t('topologyNote') : t('noNvlink')));
}

function userRows(gpus) {
  const rows = [];
  const add = (device, gpu, label) => device.users.forEach((user) => rows.push([
    userName(user), user.container, el('a', {href: `#gpu-${gpu.index}`}, label),
    bytes(user.memory.used), bytes(user.memory.limit), percent(user.sm), processList(user.processes),
  ]));
  for (const gpu of gpus) {
    add(gpu, gpu, `GPU ${gpu.index}`);
    gpu.mig.forEach((mig) => add(mig, gpu, `GPU ${gpu.index} ${mig.profile}`));
    if (functionOf(gpu)) {
      rows.push([`${t('function')} ${functionOf(gpu)}`, '', el('a', {href: `#gpu-${gpu.index}`}, `GPU ${gpu.index}`),
                 bytes(gpu.memory && gpu.memory.used), '–', percent(gpu.utilization.gpu), processList(gpu.processes)]);
    }
  }
  return rows;
}

// The phases of a replica's start, one after the other.
function phases(replica) {
  const parts = Object.entries(replica.phases || {});
  const all = parts.reduce((sum, [, ms]) => sum + ms, 0);
  if (!all) return '–';
  const text = parts.map(([name, ms]) => `${name} ${Math.round(ms)} ms`).join(', ');
  return [bar(parts.map(([name, ms], i) => ({share: (100 * ms) / all, class: `u${i}`, title: `${name} ${Math.round(ms)} ms`})),
              labelled('start', text)), el('small', {}, text)];
}

function functionRows(functions) {
  return functions.flatMap((f) => {
    const row = (replica) => [f.name, replica ? replica.state : f.state, String(f.calls || 0), String(f.waiting || 0),
                              replica ? phases(replica) : '–', (replica && replica.problem) || f.problem || ''];
    return count(f.replicas) ? f.replicas.map(row) : [row(null)];
  });
}

function matches(gpu, filter) {
  if (!filter) return true;
  const text = JSON.stringify({...gpu, history: null}).toLowerCase();
  return text.includes(filter.toLowerCase());
}

function nodeView(page, filter) {
  const shown = page.gpus.filter((gpu) => matches(gpu, filter));
  const busy = page.gpus.filter((g) => count(g.users) || g.lentTo || g.mig.some((m) => count(m.users))).length;
  const bad = page.gpus.filter((g) => !g.healthy).length;
  const byUuid = new Map(page.gpus.map((g) => [g.uuid, g.index]));
  const rows = userRows(shown);
  return [
    el('section', {id: 'summary', 'aria-label': t('summary')},
       el('dl', {class: 'numbers'}, [[t('gpus'), page.gpus.length], [t('inUse'), busy], [t('unhealthy'), bad],
                                     [t('driver'), (page.driver && page.driver.version) || '–'],
                                     ['CUDA', (page.driver && page.driver.cudaVersion) || '–']]
           .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, String(value)))))),
    page.ready ? null : el('p', {class: 'bad', id: 'problem'}, page.problem),
    page.driver && page.driver.reason ? el('p', {class: 'bad'}, page.driver.reason) : null,
    el('section', {id: 'gpus'}, el('h2', {}, t('gpus')), el('div', {class: 'tiles'}, shown.map(gpuTile)),
       shown.length ? null : el('p', {}, page.gpus.length ? t('noneMatch') : t('noGpu'))),
    el('section', {id: 'users'}, el('h2', {}, t('users')),
       rows.length ? table(t('users'), [t('pod'), t('container'), t('device'), t('memory'), t('limit'), t('utilization'),
                                        t('processes')], rows, [3, 4, 5]) : el('p', {}, t('nobody'))),
    el('section', {id: 'pools'}, el('h2', {}, t('pools')),
       table(t('pools'), [t('resource'), t('total'), t('used'), t('unhealthy')],
             page.pools.map((p) => [p.name, String(p.total), String(p.used), String(p.unhealthy)]), [1, 2, 3])),
    count(page.functions) ? el('section', {id: 'functions'}, el('h2', {}, t('functions')),
       table(t('functions'), [t('function'), t('stateHead'), t('calls'), t('waiting'), t('start'), ''],
             functionRows(page.functions), [2, 3])) : null,
    page.gpus.length > 1 ? el('section', {id: 'topology'}, el('h2', {}, t('topology')), topology(page.gpus)) : null,
    el('section', {id: 'events'}, el('h2', {}, t('events')),
       count(page.events) ? table(t('events'), [t('time'), 'GPU', t('event'), ''],
                                  page.events.map((e) => [
                                    time(e.time), byUuid.has(e.gpu) ? String(byUuid.get(e.gpu)) : '–',
                                    `${e.rule} ${e.kind}${e.count > 1 ? ` ×${e.count}` : ''}`, e.message]))
                          : el('p', {}, t('noEvents'))),
  ];
}
