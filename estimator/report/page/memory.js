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
      `Peak ${si(peak, 'B')} at ${steps.label(peakAt)}. Click a moment for what is alive at it.`));

  // What lives at step i, the largest first.
  const alive = i => steps.live.filter(([, , from, more]) => from <= i && i <= from + more).sort((a, b) => b[1] - a[1]);
  const tensor = ([name, bytes]) => [report.strings[name], si(bytes, 'B')];
  const list = html('div', {class: 'alive', 'aria-live': 'polite'});
  function showAlive(i) {
    const kMost = 12, tensors = alive(i);
    list.replaceChildren(html('h3', {}, `Alive while ${steps.label(i)} runs: ${si(steps.bytes[i], 'B')}`),
        html('table', {class: 'grid'}, html('tbody', {}, tensors.slice(0, kMost).map(tensor).map(([name, size]) => html('tr', {}, html('td', {}, name), html('td', {class: 'num'}, size))))),
        tensors.length > kMost ? html('p', {class: 'hint'}, `and ${integer(tensors.length - kMost)} smaller ones`) : '');
  }

  section.append(fitted(width => {
    const x = i => left + i / count * (width - left - right);
    const chart = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Live activation memory by node; arrow keys move through the run, Enter lists what is alive'});
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
    const point = (i, event) => {
      at = Math.max(0, Math.min(count - 1, i));
      cursor.setAttribute('visibility', 'visible');
      cursor.setAttribute('x1', x(at + 0.5));
      cursor.setAttribute('x2', x(at + 0.5));
      showTip(event, steps.label(at), [['live activations', si(steps.bytes[at], 'B')], ['of the peak', percent(steps.bytes[at], peak)], ...alive(at).slice(0, 4).map(tensor)]);
    };
    let at = peakAt;
    const under = event => {
      const box = chart.getBoundingClientRect();
      return Math.floor(((event.clientX - box.left) / box.width * width - left) / (width - left - right) * count);
    };
    const leave = () => { cursor.setAttribute('visibility', 'hidden'); hideTip(); };
    const area = svg('rect', {x: left, y: top, width: width - left - right, height: floor - top, fill: 'transparent',
      tabindex: '0', role: 'slider', 'aria-label': 'moment of the run', 'aria-valuemin': 1, 'aria-valuemax': count, 'aria-valuenow': peakAt + 1,
      onmousemove: event => point(under(event), event), onmouseleave: leave, onblur: leave,
      onclick: event => { point(under(event), event); showAlive(at); },
      onkeydown: event => {
        const page = Math.max(1, Math.round(count / 20));
        const to = {ArrowRight: at + 1, ArrowLeft: at - 1, PageUp: at + page, PageDown: at - page, Home: 0, End: count - 1}[event.key];
        if (to === undefined && event.key !== 'Enter') return;
        event.preventDefault();
        const box = area.getBoundingClientRect();
        point(to === undefined ? at : to, {clientX: box.left + box.width * (at + 0.5) / count, clientY: box.bottom});
        area.setAttribute('aria-valuenow', at + 1);
        area.setAttribute('aria-valuetext', `${steps.label(at)}: ${si(steps.bytes[at], 'B')}`);
        if (event.key === 'Enter') showAlive(at);
      }});
    chart.append(area);
    return chart;
  }), list);
  showAlive(peakAt);
  return section;
}
