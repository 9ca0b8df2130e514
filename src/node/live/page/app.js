// Gets the document again and again, and shows the page that it is for.
'use strict';

const kAgain = 3000;

let page = null;
let filter = '';
let problem = '';
let needsToken = false;

function stored(name) {
  try {
    return sessionStorage.getItem(name) || localStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name, value, forThisTab) {
  try {
    (forThisTab ? sessionStorage : localStorage).setItem(name, value);
  } catch { /* a browser that keeps nothing */ }
}

// 13:05:09 in each language: some would write it in words, or midnight as 24.
function time(text) {
  return new Date(text).toLocaleTimeString('en-GB');
}

function setFilter(text) {
  filter = text;
  show();
}

function tokenForm() {
  return el('form', {
    id: 'token',
    onsubmit: (event) => {
      event.preventDefault();
      store('token', document.getElementById('token-text').value.trim(), true);
      needsToken = false;
      follow();
    },
  }, el('p', {}, t('tokenNeeded')), el('label', {for: 'token-text'}, t('token')), ' ',
  el('input', {id: 'token-text', type: 'password', autocomplete: 'off', required: true}), ' ',
  el('button', {type: 'submit'}, t('open')));
}

function controls() {
  const choice = (id, label, values, chosen, change) => el(
      'select', {id, 'aria-label': label, onchange: (event) => change(event.target.value)},
      values.map(([value, text]) => el('option', {value, selected: value === chosen}, text)));
  return [
    el('input', {id: 'filter', type: 'search', placeholder: t('filter'), 'aria-label': t('filter'), value: filter,
                 oninput: (event) => setFilter(event.target.value)}),
    choice('language', t('language'), Object.entries(kTexts).map(([code, texts]) => [code, texts.name]), language, (code) => {
      setLanguage(code);
      store('language', code);
      show();
    }),
    choice('theme', t('theme'), [['', t('themeAuto')], ['light', t('themeLight')], ['dark', t('themeDark')]],
           stored('theme') || '', (theme) => {
             store('theme', theme);
             setTheme(theme);
             show();
           }),
  ];
}

function setTheme(theme) {
  if (theme) {
    document.documentElement.dataset.theme = theme;
  } else {
    delete document.documentElement.dataset.theme;
  }
}

function show() {
  const main = document.getElementById('main');
  const fresh = el('main', {id: 'main', tabindex: '-1'});
  if (needsToken) {
    fresh.append(tokenForm());
  } else if (page) {
    fresh.append(...(page.kind === 'Cluster' ? clusterView(page, filter) : nodeView(page, filter)).flat(9)
        .filter((part) => part !== null));
  }
  morph(main, fresh);
  const name = page ? page.node || t('cluster') : '';
  document.title = name ? `${name} – kgpu` : 'kgpu';
  document.getElementById('title').textContent = name || 'kgpu';
  const state = problem || (page ? (page.measured === null ? t('notMeasured') : `${t('asOf')} ${time(page.measured || page.time)}`) : t('loading'));
  const line = document.getElementById('state');
  line.className = problem ? 'bad' : '';
  if (line.textContent !== state) line.textContent = state;
  morph(document.getElementById('controls'), el('nav', {id: 'controls', 'aria-label': t('settings')}, controls()));
  morph(document.getElementById('links'), el('footer', {id: 'links'}, el('a', {href: 'live'}, 'live (JSON)'),
                                             el('a', {href: 'metrics'}, 'metrics'), el('a', {href: 'healthz'}, 'healthz'),
                                             el('a', {href: 'readyz'}, 'readyz'), page ? `kgpu ${page.agent}` : ''));
}

// Server-sent events over fetch: EventSource cannot send a token. Their data is one line each.
async function follow() {
  const token = stored('token');
  const stop = new AbortController();
  try {
    const answer = await fetch('live/events', {
      headers: token ? {Authorization: `Bearer ${token}`} : {}, cache: 'no-store', signal: stop.signal});
    if (answer.status === 401 || answer.status === 403) {
      needsToken = true;
      problem = answer.status === 403 || token ? (await answer.text()).trim() : '';
      return show();
    }
    if (!answer.ok) throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      text += value;
      // Only the newest counts.
      const end = text.lastIndexOf('\n\n');
      if (end < 0) continue;
      const before = text.lastIndexOf('\n\n', end - 1);
      const event = text.slice(before < 0 ? 0 : before + 2, end).slice('data: '.length);
      text = text.slice(end + 2);
      page = JSON.parse(event);
      problem = '';
      if (!document.hidden) show();
    }
    throw new Error(t('ended'));
  } catch (error) {
    stop.abort();  // an answer that is not understood would stay open
    problem = labelled('noAnswer', error.message);
    show();
    setTimeout(follow, kAgain);
  }
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) show();
});
document.addEventListener('keydown', (event) => {
  const isTyping = ['INPUT', 'SELECT', 'TEXTAREA'].includes(document.activeElement.nodeName);
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    document.getElementById('filter').focus();
  } else if (event.key === 'Escape' && document.activeElement.id === 'filter') {
    document.getElementById('filter').value = '';
    setFilter('');
  }
});

setTheme(stored('theme'));
setLanguage(stored('language') || navigator.language);
show();
follow();
