'use strict';
// The roofline: attained FLOP/s over intensity, both logarithmic. A dot is a kernel; its area is
// its share of the time. Its work is what its algorithm cannot do without, so that no dot is above
// its roof: Winograd needs fewer multiplications than the mathematics as written.

function drawRoofline(report) {
  const shown = report.kernels.filter(k => k.least > 0 && k.bytes > 0 && timeOf(k) > 0);
  const hidden = report.kernels.length - shown.length;
  const total = report.kernels.reduce((sum, k) => sum + timeOf(k), 0);
  const section = html('section', {id: 'roofline'}, html('h2', {}, 'Roofline'));
  const roofless = !report.roofs.compute.length || !report.roofs.memory.length;
  if ((roofless && !report.profile) || !shown.length) {
    section.append(html('p', {class: 'hint'}, report.profile ? 'No kernel whose FLOPs, bytes and time were all counted.'
        : 'No kernel with arithmetic and a known roof.'));
    return section;
  }
  const framed = framedOf(shown, total), far = shown.length - framed.length;
  const sum = kernels => kernels.reduce((all, k) => all + timeOf(k), 0), farTime = sum(shown) - sum(framed);
  const hiddenTime = total - sum(shown);
  section.append(html('p', {class: 'hint'},
      `A dot is a kernel, or as many alike as its number says: FLOPs per second of ${timeName(report)}, over FLOPs per byte. Its area is its share of the time. ` +
      (timeName(report) === 'bound' || !shown.some(k => k.bound > 0) ? '' : 'A thin line leads up to its bound' +
          (shown.some(k => k.measured > 0) ? ', and to what was measured.' : '.')) +
      reducedText(shown) +
      (hidden ? ` Not drawn: ${integer(hidden)} ${hidden === 1 ? 'kernel' : 'kernels'} without arithmetic, ${percent(hiddenTime, total)} of the time.` : '') +
      (far ? ` ${integer(far)} ${far === 1 ? 'kernel lies' : 'kernels lie'} far away and ${far === 1 ? 'is' : 'are'} on the chart as a whole: ${percent(farTime, total)} of the time.` : '')));
  section.append(limiterLegend(report, shown));

  const state = {view: null, every: false, all: !report.roofs.compute.some(c => c.used)};
  const chart = fitted(width => rooflineChart(report, shown, framed, total, roofless, state, width));
  picked.listeners.push(kernel => markPicked(chart, kernel));
  section.append(rooflineControls(report, state, chart), chart);
  letZoom(chart, state);
  return section;
}

// Buttons: nearer, farther, all of it; and the roofs of types that nothing here runs in.
function rooflineControls(report, state, chart) {
  const zoom = factor => () => {
    const {x0, x1, y0, y1} = chart.plot;
    const grow = (a, b) => [(a + b) / 2 - (b - a) / 2 * factor, (a + b) / 2 + (b - a) / 2 * factor];
    const [[u0, u1], [v0, v1]] = [grow(x0, x1), grow(y0, y1)];
    state.view = {x0: u0, x1: u1, y0: v0, y1: v1};
    chart.redraw();
  };
  const unused = report.roofs.compute.filter(c => !c.used).length;
  const others = html('button', {type: 'button', 'data-roofs': 'all', 'aria-pressed': String(state.all), onclick: () => {
    state.all = !state.all;
    state.view = null;
    others.setAttribute('aria-pressed', String(state.all));
    chart.redraw();
  }}, report.profile ? 'roofs of types that were not counted' : 'roofs of other types');
  return html('div', {class: 'row controls'},
      html('button', {type: 'button', 'aria-label': 'Zoom in', onclick: zoom(0.6)}, '+'),
      html('button', {type: 'button', 'aria-label': 'Zoom out', onclick: zoom(1 / 0.6)}, '−'),
      html('button', {type: 'button', onclick: () => { state.view = null; state.every = true; chart.redraw(); }}, 'whole chart'),
      unused && unused < report.roofs.compute.length ? others : '',
      html('span', {class: 'hint'}, 'drag to move, Ctrl and wheel to zoom'));
}

// Moving with the mouse or a finger, and the wheel with Ctrl: without, it scrolls the page.
function letZoom(chart, state) {
  const decades = (dx, dy) => {
    const {x0, x1, y0, y1, left, right, top, bottom} = chart.plot;
    return [dx / (right - left) * (x1 - x0), dy / (bottom - top) * (y1 - y0)];
  };
  let from = null;
  chart.addEventListener('pointerdown', event => { if (!event.target.closest('[data-stop]')) from = {x: event.clientX, y: event.clientY, ...chart.plot}; });
  window.addEventListener('pointerup', () => { from = null; });
  chart.addEventListener('pointermove', event => {
    if (!from || !event.buttons) return;
    const [dx, dy] = decades(event.clientX - from.x, event.clientY - from.y);
    state.view = {x0: from.x0 - dx, x1: from.x1 - dx, y0: from.y0 + dy, y1: from.y1 + dy};
    chart.redraw();
  });
  chart.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const {x0, x1, y0, y1, left, top, right, bottom} = chart.plot;
    const box = chart.getBoundingClientRect(), factor = event.deltaY < 0 ? 0.85 : 1 / 0.85;
    const u = x0 + (event.clientX - box.left - left) / (right - left) * (x1 - x0);
    const v = y1 - (event.clientY - box.top - top) / (bottom - top) * (y1 - y0);
    state.view = {x0: u + (x0 - u) * factor, x1: u + (x1 - u) * factor, y0: v + (y0 - v) * factor, y1: v + (y1 - v) * factor};
    chart.redraw();
  }, {passive: false});
}

// The whole decades that hold all of the values.
function decadesOf(values) {
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  return [Math.floor(Math.log10(low) - 0.05), Math.ceil(Math.log10(high) + 0.05)];
}

const intensityOf = k => k.least / k.bytes;
// At the longest of what is drawn of it.
const lowestRateOf = k => k.least / Math.max(timeOf(k), k.measured ?? 0);

// The kernels that the first view holds: without the shortest, a five-hundredth of the time together, where they alone lie decades away.
function framedOf(shown, total) {
  let left = 2e-3 * total;
  const short = new Set([...shown].sort((a, b) => timeOf(a) - timeOf(b)).filter(k => (left -= timeOf(k)) >= 0));
  const rest = shown.filter(k => !short.has(k));
  if (!rest.length) return shown;
  const inside = of => { const [low, high] = decadesOf(rest.map(of)); return k => of(k) >= 10 ** low && of(k) <= 10 ** high; };
  const [wide, high] = [inside(intensityOf), inside(lowestRateOf)];
  return shown.filter(k => !short.has(k) || (wide(k) && high(k)));
}

function rooflineChart(report, all, framed, total, roofless, state, width) {
  const shown = state.every || state.view ? all : framed;
  const height = Math.round(Math.max(300, Math.min(560, 0.62 * width)));
  const left = 58, right = width - 16, top = 14, bottom = height - 42;
  const rate = (k, time) => k.least / time;
  const roofs = {memory: report.roofs.memory, compute: report.roofs.compute.filter(c => state.all || c.used)};
  const peaks = roofs.compute.map(c => c.peak);
  const ridge = roofless ? [] : [Math.max(...peaks) / Math.min(...roofs.memory.map(m => m.rate))];
  const [x0, x1] = state.view ? [state.view.x0, state.view.x1] : decadesOf(shown.map(intensityOf).concat(ridge));
  const [y0, y1] = state.view ? [state.view.y0, state.view.y1]
      : decadesOf(shown.map(lowestRateOf).concat(peaks));
  const x = v => left + (Math.log10(v) - x0) / (x1 - x0) * (right - left);
  const y = v => bottom - (Math.log10(v) - y0) / (y1 - y0) * (bottom - top);
  const plot = {x, y, x0, x1, y0, y1, left, right, top, bottom};

  const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group',
    'aria-label': 'Roofline chart: attained FLOP per second over arithmetic intensity; arrow keys move between kernels'});
  chart.append(svg('clipPath', {id: 'plot'}, svg('rect', {x: left, y: top - 2, width: right - left, height: bottom - top + 4})));
  for (let e = Math.ceil(x0); e <= x1; ++e) {
    chart.append(svg('line', {class: 'grid', x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: bottom}),
        svg('text', {x: x(10 ** e), y: bottom + 16, 'text-anchor': 'middle'}, tick(e)));
  }
  for (let e = Math.ceil(y0); e <= y1; ++e) {
    chart.append(svg('line', {class: 'grid', x1: left, x2: right, y1: y(10 ** e), y2: y(10 ** e)}),
        svg('text', {x: left - 8, y: y(10 ** e) + 4, 'text-anchor': 'end'}, tick(e)));
  }
  chart.append(svg('text', {x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle'}, 'arithmetic intensity, FLOP/byte'),
      svg('text', {transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle'}, 'FLOP/s'));

  const dots = groupDots(shown, k => [x(intensityOf(k)), y(rate(k, timeOf(k)))], width * height);
  const taken = [];  // boxes of labels
  const [gaps, marks, counts] = [1, 2, 3].map(() => svg('g', {'clip-path': 'url(#plot)'}));
  for (const dot of dots) {
    const k = dot.kernels[0];  // the longest
    if (k.bound > 0 && k.bound < timeOf(k)) {
      gaps.append(svg('line', {class: 'gap', x1: dot.cx, x2: dot.cx, y1: dot.cy, y2: Math.max(top, y(rate(k, k.bound)))}));
    }
    const several = dot.kernels.length > 1;
    const mark = svg('circle', {class: 'dot', 'data-count': dot.kernels.length, cx: dot.cx.toFixed(1), cy: dot.cy.toFixed(1), r: dot.r.toFixed(1),
      style: `fill:${limiterColor(k.limiter)}`});
    mark.kernels = dot.kernels;
    const title = several ? `${integer(dot.kernels.length)} kernels, such as ${k.label}` : k.label;
    marks.append(pointable(mark, title, () => several ? groupRows(dot, total) : kernelRows(k, total), () => picked.set(k, 'roofline')));
    if (several) {
      counts.append(countText(dot, dots, taken, plot));
    }
    for (const measured of dot.kernels.filter(m => m.measured > 0)) {
      const at = y(rate(measured, measured.measured)), of = x(measured.least / measured.bytes);
      gaps.append(svg('line', {class: 'gap', x1: of, x2: of, y1: dot.cy, y2: at}));
      marks.append(svg('circle', {class: 'ring', cx: of, cy: at, r: 4,
        onmousemove: event => showTip(event, measured.label + ' (measured)', kernelRows(measured, total)), onmouseleave: hideTip}));
    }
  }
  const lines = svg('g', {});
  const labels = drawRoofs(lines, roofs, plot, dots, taken);
  chart.append(lines, gaps, marks, counts, labels);
  oneStop(marks);
  // The holder is told where things are, for zooming.
  queueMicrotask(() => { if (chart.parentNode) chart.parentNode.plot = plot; });
  return chart;
}

// How many kernels a dot is: in it where it is free and large enough, else beside it.
function countText(dot, dots, taken, {left, right, top, bottom}) {
  const text = '×' + dot.kernels.length, wide = textWidth(text) + 4;  // the sign is wide
  const others = dots.filter(other => other !== dot);
  const at = (cx, cy, inside) => ({cx, cy, inside, boxes: [{x0: cx - wide / 2, x1: cx + wide / 2, y0: cy - 7, y1: cy + 6}]});
  const away = dot.r + 4 + wide / 2;
  const places = [];
  if (dot.r > 4 + wide / 2) places.push(at(dot.cx, dot.cy, true));
  for (const far of [0, 14, 30]) {
    places.push(at(dot.cx + away + far, dot.cy), at(dot.cx - away - far, dot.cy), at(dot.cx, dot.cy + dot.r + 9 + far), at(dot.cx, dot.cy - dot.r - 8 - far));
  }
  const whole = places.filter(({boxes: [box]}) => box.x0 >= left && box.x1 <= right && box.y0 >= top && box.y1 <= bottom);
  const place = freePlace(whole.length ? whole : places, others, taken);
  return svg('text', {class: place.inside ? 'count inside' : 'count halo', x: place.cx.toFixed(1), y: (place.cy + 4).toFixed(1), 'text-anchor': 'middle'}, text);
}

function markPicked(chart, kernel) {
  for (const dot of chart.querySelectorAll('.dot')) dot.classList.toggle('picked', kernel !== null && dot.kernels.includes(kernel));
}

// Which kernels stand lower than the mathematics as written would have them.
function reducedText(kernels) {
  const reduced = kernels.filter(k => k.least < k.flops);
  if (!reduced.length) return '';
  const names = [...new Set(reduced.map(k => k.algorithm).filter(name => name))].sort().join(', ');
  return ` ${integer(reduced.length)} of ${integer(kernels.length)} kernels need less work than the mathematics as written` +
      `${names ? ' (' + names + ')' : ''}: they stand at what their algorithm needs.`;
}

function limiterLegend(report, kernels) {
  const total = report.kernels.reduce((sum, k) => sum + timeOf(k), 0);
  const times = new Map();
  for (const k of report.kernels) times.set(k.limiter || 'unknown', (times.get(k.limiter || 'unknown') || 0) + timeOf(k));
  const items = [...times].filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
      .map(([limiter, time]) => html('span', {}, html('i', {style: `background:${limiterColor(limiter)}`}),
          `${report.profile && limiter === 'unknown' ? 'no counter tells the limit' : 'limited by ' + limiter}: ${percent(time, total)} of the time`));
  if (kernels.some(k => k.measured > 0)) items.push(html('span', {}, html('i', {class: 'ring'}), 'measured'));
  return html('div', {class: 'legend'}, items);
}
