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
  const hiddenTime = total - shown.reduce((sum, k) => sum + timeOf(k), 0);
  section.append(html('p', {class: 'hint'},
      `Work over ${timeName(report)} against intensity; area is time. ` +
      (timeName(report) === 'bound' || !shown.some(k => k.bound > 0) ? '' : 'A thin line leads from a kernel up to its bound' +
          (shown.some(k => k.measured > 0) ? ', and to what was measured.' : '.')) +
      (report.roofs.compute.some(c => !c.used) ? ` Grey roofs are of types that the ${report.profile ? 'file did not count' : 'model does not compute in'}.` : '') +
      reducedText(shown) +
      (hidden ? ` Not drawn: ${integer(hidden)} ${hidden === 1 ? 'kernel' : 'kernels'} without arithmetic, ${percent(hiddenTime, total)} of the time.` : '')));
  section.append(limiterLegend(report, shown));

  const width = 1200, height = 560, left = 66, right = 24, top = 14, bottom = 46;
  const rate = (k, time) => k.least / time;
  const slopes = report.roofs.memory.map(m => m.rate);
  const peaks = report.roofs.compute.map(c => c.peak);
  const xs = shown.map(k => k.least / k.bytes).concat(roofless ? [] : Math.max(...peaks) / Math.min(...slopes));
  const ys = shown.map(k => rate(k, Math.max(timeOf(k), k.measured ?? 0))).concat(peaks);
  const decade = (values, pick, round) => round(Math.log10(values.reduce((a, b) => pick(a, b))) + (pick === Math.min ? -0.05 : 0.05));
  const x0 = decade(xs, Math.min, Math.floor), x1 = decade(xs, Math.max, Math.ceil);
  const y0 = decade(ys, Math.min, Math.floor), y1 = decade(ys, Math.max, Math.ceil);
  const x = v => left + (Math.log10(v) - x0) / (x1 - x0) * (width - left - right);
  const y = v => height - bottom - (Math.log10(v) - y0) / (y1 - y0) * (height - top - bottom);

  const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': 'Roofline chart: attained FLOP per second over arithmetic intensity'});
  for (let e = x0; e <= x1; ++e) {
    chart.append(svg('line', {class: 'grid', x1: x(10 ** e), x2: x(10 ** e), y1: top, y2: height - bottom}),
        svg('text', {x: x(10 ** e), y: height - bottom + 17, 'text-anchor': 'middle'}, tick(e)));
  }
  for (let e = y0; e <= y1; ++e) {
    chart.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(10 ** e), y2: y(10 ** e)}),
        svg('text', {x: left - 8, y: y(10 ** e) + 4, 'text-anchor': 'end'}, tick(e)));
  }
  chart.append(svg('text', {x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle'}, 'arithmetic intensity, FLOP/byte'),
      svg('text', {transform: `translate(14 ${(top + height - bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle'}, 'FLOP/s'));
  const labels = drawRoofs(chart, report.roofs, {x, y, x0, x1, y0, y1, width, right, top});

  // All dots together cover a twentieth of the chart, so that many of them stay apart.
  const largest = shown.reduce((most, k) => Math.max(most, timeOf(k)), 0);
  const areas = shown.reduce((sum, k) => sum + timeOf(k) / largest, 0);
  const widest = Math.min(19, Math.max(5, Math.sqrt(width * height / 20 / Math.PI / areas)));
  const radius = k => 2 + widest * Math.sqrt(timeOf(k) / largest);
  const dots = new Map();
  const marks = svg('g', {});
  for (const k of [...shown].sort((a, b) => timeOf(b) - timeOf(a))) {
    const cx = x(k.least / k.bytes), cy = y(rate(k, timeOf(k)));
    if (k.bound > 0 && k.bound < timeOf(k)) {
      marks.append(svg('line', {class: 'gap', x1: cx, x2: cx, y1: cy, y2: Math.max(top, y(rate(k, k.bound)))}));
    }
    const dot = svg('circle', {class: 'dot', cx: cx.toFixed(1), cy: cy.toFixed(1), r: radius(k).toFixed(1),
      style: `fill:${limiterColor(k.limiter)}`,
      onmousemove: event => showTip(event, k.label, kernelRows(k, total)), onmouseleave: hideTip,
      onclick: () => picked.set(k, 'roofline')});
    dots.set(k, dot);
    marks.append(dot);
    if (k.measured > 0) {
      marks.prepend(svg('line', {class: 'gap', x1: cx, x2: cx, y1: cy, y2: y(rate(k, k.measured))}));
      marks.append(svg('circle', {class: 'ring', cx, cy: y(rate(k, k.measured)), r: 4,
        onmousemove: event => showTip(event, k.label + ' (measured)', kernelRows(k, total)), onmouseleave: hideTip}));
    }
  }
  chart.append(marks, labels);
  picked.listeners.push(kernel => {
    for (const [k, dot] of dots) dot.classList.toggle('picked', k === kernel);
    if (dots.has(kernel)) marks.append(dots.get(kernel));
  });
  section.append(chart);
  return section;
}

// Which kernels stand lower than the mathematics as written would have them.
function reducedText(kernels) {
  const reduced = kernels.filter(k => k.least < k.flops);
  if (!reduced.length) return '';
  const names = [...new Set(reduced.map(k => k.algorithm).filter(name => name))].sort().join(', ');
  return ` ${integer(reduced.length)} of ${integer(kernels.length)} kernels need less work than the mathematics as written` +
      `${names ? ' (' + names + ')' : ''}: they stand at what their algorithm needs.`;
}

// Draws the lines and returns their labels.
function drawRoofs(chart, roofs, {x, y, x0, x1, y0, y1, width, right, top}) {
  const highest = Math.max(...roofs.compute.map(c => c.peak));
  const steepest = Math.max(...roofs.memory.map(m => m.rate));
  // Equal peaks share a line and a label; a label too close to the one above it moves left.
  const lines = new Map();
  for (const roof of [...roofs.compute].sort((a, b) => b.peak - a.peak)) {
    const line = lines.get(roof.peak) || {pipes: new Map(), unit: roof.unit, used: false};
    line.pipes.set(roof.pipe, [...(line.pipes.get(roof.pipe) || []), roof.name]);
    line.used = line.used || roof.used;
    lines.set(roof.peak, line);
  }
  const labels = svg('g', {class: 'labels'});  // above all lines and dots
  let last = -99, shift = 0;
  for (const [peak, {pipes, unit, used}] of lines) {
    const from = Math.max(10 ** x0, peak / steepest);
    const names = [...pipes].map(([pipe, types]) => `${pipe} ${types.join(', ')}`).join('; ');
    const text = `${names} ${si(peak, unit)}`;
    const at = y(peak);
    shift = at - last < 15 ? shift : 0;
    chart.append(svg('line', {class: used ? 'roof' : 'roof unused', x1: x(from), x2: width - right, y1: at, y2: at}));
    labels.append(svg('text', {class: used ? 'strong halo' : 'halo', x: width - right - shift, y: at - 5, 'text-anchor': 'end'}, text));
    shift += 7 * text.length + 14;
    last = at;
  }
  for (const roof of roofs.memory) {
    // From the left or lower edge of the chart up to the highest compute roof.
    const from = Math.max(10 ** x0, 10 ** y0 / roof.rate), to = Math.min(10 ** x1, highest / roof.rate);
    if (from >= to) continue;
    const [ax, ay, bx, by] = [x(from), y(from * roof.rate), x(to), y(to * roof.rate)];
    const angle = Math.atan2(by - ay, bx - ax) * 180 / Math.PI;
    const [tx, ty] = [ax + (bx - ax) * 0.06, ay + (by - ay) * 0.06];
    chart.append(svg('line', {class: roof.cache ? 'roof cache' : 'roof', x1: ax, y1: ay, x2: bx, y2: by}));
    labels.append(svg('text', {class: 'strong halo', transform: `translate(${tx.toFixed(1)} ${Math.max(ty, top + 10).toFixed(1)}) rotate(${angle.toFixed(1)}) translate(0 -6)`},
        `${roof.name} ${si(roof.rate, 'B/s')}`));
  }
  return labels;
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
