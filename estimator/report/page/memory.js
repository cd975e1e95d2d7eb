'use strict';
// Activation memory that is live while each step runs, in the order of execution.

function drawMemory(report) {
  const steps = report.memory;
  const section = html('section', {id: 'memory'}, html('h2', {}, 'Memory over the run'));
  if (!steps.bytes.length) {
    section.append(html('p', {class: 'hint'}, 'The report has no activation sizes.'));
    return section;
  }
  const height = 220, left = 66, right = 24, top = 22, bottom = 34;
  const count = steps.bytes.length;
  const peak = steps.bytes.reduce((a, b) => Math.max(a, b), 0);
  const peakAt = steps.bytes.indexOf(peak);
  const y = bytes => height - bottom - (peak ? bytes / peak : 0) * (height - top - bottom);
  section.append(html('p', {class: 'hint'},
      `Activations that must exist while a node runs; weights (${si(report.totals.weight_bytes, 'B')}) come on top. ` +
      `Peak ${si(peak, 'B')} at ${steps.label(peakAt)}.`));

  section.append(fitted(width => {
    const x = i => left + i / count * (width - left - right);
    const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Live activation memory by node'});
    for (let i = 0; i <= 4; ++i) {
      const at = y(peak * i / 4);
      chart.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: at, y2: at}),
          svg('text', {x: left - 8, y: at + 4, 'text-anchor': 'end'}, si(peak * i / 4, 'B')));
    }
    // At most two points per horizontal pixel: the highest of each bin, so that peaks stay.
    const bins = Math.min(count, width);
    let path = '';
    for (let bin = 0; bin < bins; ++bin) {
      const from = Math.floor(bin * count / bins), to = Math.max(from + 1, Math.floor((bin + 1) * count / bins));
      let highest = 0;
      for (let i = from; i < to; ++i) highest = Math.max(highest, steps.bytes[i]);
      path += `${bin ? 'L' : 'M'}${x(from).toFixed(1)} ${y(highest).toFixed(1)}H${x(to).toFixed(1)}`;
    }
    const floor = height - bottom;
    const cursor = svg('line', {class: 'cursor', x1: left, x2: left, y1: top, y2: floor, visibility: 'hidden'});
    const near = x(peakAt + 0.5) > width * 0.8;
    chart.append(svg('path', {class: 'area', d: `${path}V${floor}H${left}Z`}), svg('path', {class: 'edge', d: path}), cursor,
        svg('text', {class: 'strong halo', x: x(peakAt + 0.5), y: top - 7, 'text-anchor': near ? 'end' : 'start'}, `peak ${si(peak, 'B')}`),
        svg('text', {x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle'}, `node 1 to ${integer(count)}, in order of execution`));
    chart.append(svg('rect', {x: left, y: top, width: width - left - right, height: floor - top, fill: 'transparent',
      onmousemove: event => {
        const box = chart.getBoundingClientRect();
        const at = ((event.clientX - box.left) / box.width * width - left) / (width - left - right) * count;
        const i = Math.max(0, Math.min(count - 1, Math.floor(at)));
        cursor.setAttribute('visibility', 'visible');
        cursor.setAttribute('x1', x(i + 0.5));
        cursor.setAttribute('x2', x(i + 0.5));
        showTip(event, steps.label(i), [['live activations', si(steps.bytes[i], 'B')], ['of the peak', percent(steps.bytes[i], peak)]]);
      },
      onmouseleave: () => { cursor.setAttribute('visibility', 'hidden'); hideTip(); }}));
    return chart;
  }));
  return section;
}
