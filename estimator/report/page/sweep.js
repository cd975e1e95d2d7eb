'use strict';
// A sweep: curves over one of its sizes, a heat map over two, and its points.

const kSweepMetrics = [
  // key, name, text
  ['throughput', 'items per second', v => si(v, '')],
  ['tokens', 'tokens per second', v => si(v, '')],
  ['latency', 'time of a run', seconds],
  ['intensity', 'arithmetic intensity', v => ratio(v) + ' FLOP/B'],
  ['memory', 'memory needed', v => si(v, 'B')],
  ['joules', 'energy per item (high side)', v => si(v, 'J')],
  ['price', 'price per million items', v => v.toPrecision(4)],
  ['flops', 'work', v => si(v, 'FLOP')],
  ['bytes', 'traffic', v => si(v, 'B')],
];

function unpackSweep(sweep) {
  sweep.points = sweep.rows.map(row => {
    const point = {};
    sweep.columns.forEach((column, i) => { point[column] = row[i]; });
    point.limiter = sweep.texts[point.limiter];
    return point;
  });
  sweep.metrics = kSweepMetrics.filter(([key]) => sweep.points.some(p => p[key] > 0));
}

// "a100-sxm4-80gb f16, sequence=128": all that a point is but its size along one axis, or two.
function sweepName(sweep, point, without) {
  const words = [sweep.devices[point.device], sweep.dtypes[point.dtype]].filter(word => word);
  sweep.axes.forEach((axis, a) => { if (!without.includes(a) && axis.sizes.length > 1) words.push(`${axis.name}=${integer(point.sizes[a])}`); });
  return words.join(' ') || 'all';
}

function sweepRows(sweep, point) {
  return [...sweep.axes.map((axis, a) => [axis.name, integer(point.sizes[a])]),
    ...sweep.metrics.map(([key, name, text]) => point[key] !== null && [name, text(point[key])]),
    point.fits !== null && ['fits into memory', point.fits ? 'yes' : 'no'], ['limited by', point.limiter || '–']];
}

// Round numbers from low to high on a logarithmic axis: powers of ten, or of two where they are few.
function logTicks(low, high) {
  const decades = Math.log10(high / low), base = decades < 3 ? 2 : 10, ticks = [];
  for (let e = Math.ceil(Math.log(low) / Math.log(base) - 1e-9); base ** e <= high * (1 + 1e-9); ++e) ticks.push(base ** e);
  const step = Math.ceil(ticks.length / 9);
  return ticks.filter((_, i) => i % step === 0);
}

function sweepCurves(sweep, axis, [key, name, text], width) {
  const height = Math.round(Math.max(280, Math.min(460, 0.5 * width)));
  const left = 76, right = width - 16, top = 14, bottom = height - 42;
  const series = new Map();
  for (const point of sweep.points.filter(p => p[key] > 0)) {
    const label = sweepName(sweep, point, [axis]);
    if (!series.has(label)) series.set(label, []);
    series.get(label).push(point);
  }
  const all = [...series.values()].flat();
  const span = values => [Math.min(...values), Math.max(...values)];
  let [x0, x1] = span(all.map(p => p.sizes[axis])), [y0, y1] = span(all.map(p => p[key]));
  if (x0 === x1) { x0 /= 2; x1 *= 2; }
  if (y1 / y0 < 1.2) { y0 /= 1.5; y1 *= 1.5; }
  [y0, y1] = [y0 / 1.1, y1 * 1.1];
  const scale = (v, v0, v1, from, to) => from + Math.log(v / v0) / Math.log(v1 / v0) * (to - from);
  const x = v => scale(Math.max(v, x0), x0, x1, left, right), y = v => scale(v, y0, y1, bottom, top);
  const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${name} over ${sweep.axes[axis].name}; arrow keys move between points`});
  for (const v of logTicks(x0, x1)) chart.append(svg('line', {class: 'grid', x1: x(v), x2: x(v), y1: top, y2: bottom}), svg('text', {x: x(v), y: bottom + 16, 'text-anchor': 'middle'}, integer(v)));
  for (const v of logTicks(y0, y1)) chart.append(svg('line', {class: 'grid', x1: left, x2: right, y1: y(v), y2: y(v)}), svg('text', {x: left - 8, y: y(v) + 4, 'text-anchor': 'end'}, text(v)));
  chart.append(svg('text', {x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle'}, `${sweep.axes[axis].name} (hollow: does not fit into memory)`));
  [...series].forEach(([label, points], s) => {
    const color = `var(--c${s % 6})`;
    points.sort((a, b) => a.sizes[axis] - b.sizes[axis]);
    chart.append(svg('polyline', {class: 'curve', style: `stroke:${color}`, points: points.map(p => `${x(p.sizes[axis]).toFixed(1)},${y(p[key]).toFixed(1)}`).join(' ')}));
    for (const point of points) {
      chart.append(pointable(svg('circle', {class: 'point', cx: x(point.sizes[axis]).toFixed(1), cy: y(point[key]).toFixed(1), r: points.length > 60 ? 2 : 4,
        style: point.fits === false ? `stroke:${color};fill:var(--surface)` : `stroke:${color};fill:${color}`}), label, () => sweepRows(sweep, point), () => {}));
    }
  });
  oneStop(chart);
  const legend = html('div', {class: 'legend'}, [...series.keys()].slice(0, 24).map((label, s) => html('span', {}, html('i', {style: `background:var(--c${s % 6})`}), label)),
      series.size > 24 ? html('span', {}, `and ${series.size - 24} more`) : '');
  return [legend, chart];
}

function sweepMap(sweep, [a, b], [key, name, text], fixed, width) {
  const shown = sweep.points.filter(p => p[key] > 0 && sweepName(sweep, p, [a, b]) === fixed);
  const columns = sweep.axes[a].sizes, rows = [...sweep.axes[b].sizes].reverse();
  const left = 76, top = 8, cellWidth = (width - left - 8) / columns.length, cellHeight = Math.min(34, Math.max(6, 420 / rows.length));
  const height = top + rows.length * cellHeight + 44;
  const low = Math.min(...shown.map(p => p[key])), high = Math.max(...shown.map(p => p[key]));
  const share = v => high > low ? Math.log(v / low) / Math.log(high / low) : 1;
  const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${name} over ${sweep.axes[a].name} and ${sweep.axes[b].name}; arrow keys move between cells`});
  for (const point of shown) {
    const column = columns.indexOf(point.sizes[a]), row = rows.indexOf(point.sizes[b]);
    const [cx, cy] = [left + column * cellWidth, top + row * cellHeight];
    const label = text(point[key]);
    chart.append(pointable(svg('rect', {class: 'cell', x: cx.toFixed(1), y: cy.toFixed(1), width: cellWidth.toFixed(1), height: cellHeight.toFixed(1),
      style: `fill:color-mix(in srgb, var(--c0) ${(12 + 88 * share(point[key])).toFixed(0)}%, var(--surface))`}), label, () => sweepRows(sweep, point), () => {}));
    if (textWidth(label) < cellWidth - 4 && cellHeight >= 16) {
      chart.append(svg('text', {class: share(point[key]) > 0.75 ? 'filled' : 'strong', x: (cx + cellWidth / 2).toFixed(1), y: (cy + cellHeight / 2 + 4).toFixed(1), 'text-anchor': 'middle'}, label));
    }
  }
  const everyColumn = Math.ceil(columns.length * 46 / (width - left)), everyRow = Math.ceil(14 / cellHeight);
  columns.forEach((v, i) => { if (i % everyColumn === 0) chart.append(svg('text', {x: left + (i + 0.5) * cellWidth, y: height - 26, 'text-anchor': 'middle'}, integer(v))); });
  rows.forEach((v, i) => { if (i % everyRow === 0) chart.append(svg('text', {x: left - 8, y: top + (i + 0.5) * cellHeight + 4, 'text-anchor': 'end'}, integer(v))); });
  chart.append(svg('text', {x: (left + width) / 2, y: height - 6, 'text-anchor': 'middle'}, `${sweep.axes[a].name} to the right, ${sweep.axes[b].name} upwards`));
  oneStop(chart);
  return [chart];
}

// Buttons of which one is pressed; `act` gets its index.
function choice(names, chosen, act) {
  const buttons = names.map((name, i) => html('button', {type: 'button', 'aria-pressed': String(i === chosen), onclick: () => {
    buttons.forEach((button, j) => button.setAttribute('aria-pressed', String(i === j)));
    act(i);
  }}, name));
  return buttons;
}

function drawSweep(report) {
  const sweep = report.sweep;
  unpackSweep(sweep);
  const wide = sweep.axes.map((axis, a) => a).filter(a => sweep.axes[a].sizes.length > 1);
  if (!wide.length) wide.push(0);
  const state = {metric: 0, axis: wide[0], fixed: 0};
  const sections = [];
  if (!sweep.metrics.length) return [html('section', {id: 'curves'}, html('p', {class: 'hint'}, 'The model takes none of these sizes.'))];
  const redraw = () => sections.forEach(section => section.querySelector('.chart')?.redraw());
  const curves = fitted(width => sweepCurves(sweep, state.axis, sweep.metrics[state.metric], width));
  sections.push(html('section', {id: 'curves'}, html('h2', {}, report.title + ' over its sizes'),
      html('div', {class: 'row'}, choice(sweep.metrics.map(([, name]) => name), 0, i => { state.metric = i; redraw(); })),
      wide.length > 1 ? html('div', {class: 'row'}, choice(wide.map(a => 'over ' + sweep.axes[a].name), 0, i => { state.axis = wide[i]; redraw(); })) : '', curves));
  if (wide.length > 1) {
    const fixed = [...new Set(sweep.points.map(p => sweepName(sweep, p, wide.slice(0, 2))))];
    const map = fitted(width => sweepMap(sweep, wide, sweep.metrics[state.metric], fixed[state.fixed], width));
    sections.push(html('section', {id: 'map'}, html('h2', {}, 'Two sizes at once'),
        fixed.length > 1 ? html('div', {class: 'row'}, choice(fixed, 0, i => { state.fixed = i; map.redraw(); })) : '', map));
  }
  const kMostRows = 500;
  const head = [...sweep.axes.map(axis => axis.name), sweep.devices.length ? 'device' : '', sweep.dtypes.length > 1 ? sweep.setup : '',
    ...sweep.metrics.map(([, name]) => name), sweep.devices.length ? 'limited by' : ''].filter(text => text);
  const rows = sweep.points.slice(0, kMostRows).map(p => html('tr', {}, [...p.sizes.map(integer), sweep.devices.length ? sweep.devices[p.device] : '',
    sweep.dtypes.length > 1 ? sweep.dtypes[p.dtype] || 'as in the file' : '', ...sweep.metrics.map(([key, , text]) => p[key] === null ? '–' : text(p[key])), sweep.devices.length ? p.limiter : '']
      .filter(text => text !== '').map(text => html('td', {class: 'num'}, text))));
  sections.push(html('section', {id: 'points'}, html('h2', {}, 'Points'), scrollBox('points',
      html('table', {class: 'grid sums'}, html('thead', {}, html('tr', {}, head.map(name => html('th', {class: 'plain num'}, name)))), html('tbody', {}, rows))),
      sweep.points.length > kMostRows ? html('p', {class: 'hint'}, `${integer(sweep.points.length - kMostRows)} more are not shown.`) : ''));
  return sections;
}
