'use strict';
// Shared by all charts: making elements, printing numbers, the tooltip.

const kSvg = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== '') element.append(child);
  }
  return element;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);

const kPrefixes = [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];

// 4.089e9, 'MAC' is "4.09 GMAC": three digits, decimal prefixes.
function si(value, unit) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  const [scale, prefix] = kPrefixes.find(([s]) => size >= s) || [1, ''];
  const scaled = value / scale;
  const whole = Number.isInteger(value) && scale === 1;
  return (whole ? String(value) : scaled.toPrecision(3).replace(/e.*/, '')) + ' ' + prefix + unit;
}
// Memories come in powers of two.
const gibibytes = value => parseFloat((value / 2 ** 30).toPrecision(4)) + ' GiB';
// A power of ten on an axis: 1e10 is "10 G".
function tick(exponent) {
  if (exponent < 0) return String(10 ** exponent);
  const [scale, prefix] = kPrefixes.find(([s]) => 10 ** exponent >= s);
  return Math.round(10 ** exponent / scale) + (prefix ? ' ' + prefix : '');
}
function seconds(value) {
  if (value === null || value === undefined) return '–';
  if (value === 0) return '0 s';
  const [scale, unit] = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]
      .find(([s]) => Math.abs(value) >= s) || [1e-9, 'ns'];
  const scaled = value / scale;
  return (scaled >= 1000 ? scaled.toFixed(0) : scaled.toPrecision(3)) + ' ' + unit;
}
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '–';
const integer = value => value === null || value === undefined ? '–' : value.toLocaleString('en');
const ratio = value => value === null ? '–' : value < 10 ? value.toPrecision(3) : value < 1e4 ? value.toFixed(0) : si(value, '');

// A table that scrolls where it is too large, by keyboard, too.
const scrollBox = (label, table) => html('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, table);

// Paper has the first rows of what a screen scrolls: says how many there are.
const onPaper = (all, most, tag) => all > most ? html(tag, {class: 'paper hint'}, `${integer(all - most)} more are on the screen.`) : '';

// What bounds a kernel has a colour, the same in every chart.
const kLimiterColors = {
  compute: 'var(--c0)', tensor: 'var(--c0)', vector: 'var(--c4)', memory: 'var(--c1)', cache: 'var(--c2)',
  launch: 'var(--c3)', steps: 'var(--c2)', transforms: 'var(--c4)', parts: 'var(--c4)', power: 'var(--c5)',
};
function limiterColor(limiter) {
  const text = (limiter || '').toLowerCase();
  const key = Object.keys(kLimiterColors).find(word => text.includes(word));
  if (key) return kLimiterColors[key];
  return /l2|l3|llc/.test(text) ? 'var(--c2)' : 'var(--c-none)';
}

const tip = html('div', {class: 'tip', role: 'tooltip', id: 'tip'});
function showTip(event, title, rows) {
  tip.replaceChildren(html('b', {}, title),
      html('table', {}, rows.filter(row => row).map(([name, value]) =>
          html('tr', {}, html('td', {}, name), html('td', {}, value)))));
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const below = event.clientY + 14 + box.height < window.innerHeight;
  tip.style.left = Math.max(8, left) + 'px';
  tip.style.top = (below ? event.clientY + 14 : Math.max(8, event.clientY - box.height - 10)) + 'px';
  tip.style.visibility = 'visible';
}
function hideTip() { tip.style.visibility = 'hidden'; }

// Makes a part of a chart one that a mouse, a finger and a keyboard can point at and choose.
// `rows` are computed when they are wanted.
function pointable(element, title, rows, choose) {
  const shown = () => title + ': ' + rows().filter(row => row).slice(0, 3).map(([name, value]) => `${name} ${value}`).join(', ');
  const box = () => element.getBoundingClientRect();
  fill(element, {
    tabindex: '-1', 'data-stop': '', role: 'button', 'aria-label': title,
    onmousemove: event => showTip(event, title, rows()), onmouseleave: hideTip, onclick: choose,
    onfocus: () => {
      element.setAttribute('aria-label', shown());
      if (element.matches(':focus-visible')) showTip({clientX: box().right, clientY: box().bottom}, title, rows());
    },
    onblur: hideTip,
    onkeydown: event => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      choose(event);
    },
  }, []);
  return element;
}
// One stop for Tab, whose parts the arrows move between: thousands of stops would trap a keyboard.
function oneStop(group) {
  const stops = [...group.querySelectorAll('[data-stop]')];
  if (stops.length) stops[0].setAttribute('tabindex', '0');
  group.addEventListener('keydown', event => {
    const at = stops.indexOf(document.activeElement);
    const to = {ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: stops.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = stops[(to + stops.length) % stops.length];
    stops[at].setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  });
}
// A chart that is drawn anew when its room changes, so that text has its size on every screen:
// draw(width) returns the elements.
function fitted(draw) {
  const holder = html('div', {class: 'chart'});
  let width = Math.max(280, Math.min(1280, document.documentElement.clientWidth) - 74);
  holder.redraw = () => holder.replaceChildren(...[draw(width)].flat());
  new ResizeObserver(() => {
    const room = Math.round(holder.clientWidth);
    if (room < 100 || Math.abs(room - width) < 2) return;
    width = room;
    holder.redraw();
  }).observe(holder);
  holder.redraw();
  return holder;
}

// A kernel of a profile without a model, not of a report.
const isMeasuredAlone = kernel => kernel.time !== undefined;

function kernelRows(kernel, total) {
  if (isMeasuredAlone(kernel)) return profileRows(kernel, total);
  return [
    ['operators', kernel.ops], kernel.algorithm && ['algorithm', kernel.algorithm],
    kernel.tile && ['tile', kernel.tile], kernel.launches > 1 && ['launches', integer(kernel.launches)],
    ['limited by', kernel.limiter || '–'],
    ['work', si(kernel.flops, 'FLOP')],
    kernel.least !== kernel.flops && ['needed by its algorithm', si(kernel.least, 'FLOP')],
    kernel.executed !== null && kernel.executed !== kernel.flops && ['executed', si(kernel.executed, 'FLOP')],
    ['traffic', si(kernel.bytes, 'B')], kernel.moved !== kernel.bytes && ['with intermediate results', si(kernel.moved, 'B')], kernel.flops > 0 && ['intensity', ratio(kernel.intensity) + ' FLOP/B'],
    ['bound', seconds(kernel.bound) + (kernel.bound_limiter ? ` (${kernel.bound_limiter})` : '')], ['expected', seconds(kernel.expected)],
    kernel.measured !== null && ['measured', seconds(kernel.measured)],
    kernel.measuredFlops !== null && ['measured work', si(kernel.measuredFlops, 'FLOP')],
    kernel.measuredBytes !== null && ['measured traffic', si(kernel.measuredBytes, 'B')],
    ['share of time', percent(timeOf(kernel), total)],
  ];
}
// The best statement of a kernel's time that the report has. A profile's is what it measured or nothing.
const timeOf = kernel => (isMeasuredAlone(kernel) ? kernel.time : kernel.expected ?? kernel.bound) ?? 0;

// What `timeOf` is in a report, for its texts.
const timeName = report => report.profile ? 'measured time' : report.kernels.some(k => k.expected !== null) ? 'expected time' : 'bound';

// What charts share out: time, or the work where no device says how long it takes.
function measureOf(reports) {
  const timed = reports.some(report => report.kernels.some(k => timeOf(k) > 0));
  return timed ? {of: timeOf, name: timeName(reports[0]), print: seconds, unit: 'time', heading: 'Where the time goes'}
      : {of: k => k.flops, name: 'work', print: value => si(value, 'FLOP'), unit: 'work', heading: 'Where the work is'};
}

// Which kernel is picked, in every chart at once.
const picked = {
  kernel: null, listeners: [],
  set(kernel, source) {
    this.kernel = this.kernel === kernel ? null : kernel;
    for (const listener of this.listeners) listener(this.kernel, source);
  },
};
