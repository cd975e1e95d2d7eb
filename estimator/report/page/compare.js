'use strict';
// Several reports side by side: totals, and time by operator.

const kTotals = [
  // name, number, text, and the key of its mark ("<= " where it is an upper bound)
  ['MACs', t => t.macs, v => si(v, 'MAC'), 'macs'],
  ['work', t => t.flops, v => si(v, 'FLOP'), 'flops'],
  ['traffic', t => t.bytes, v => si(v, 'B'), 'bytes'],
  ['parameters', t => t.parameters, v => si(v, '')],
  ['weights', t => t.weight_bytes, v => si(v, 'B')],
  ['peak activations', t => t.peak_activation_bytes, v => si(v, 'B'), 'peak_activation_bytes'],
  ['memory needed', t => t.needed_bytes, (v, t) => !t.memory_bytes ? si(v, 'B')
      : [si(v, 'B'), html('small', {class: v <= t.memory_bytes ? '' : 'worse'},
          v <= t.memory_bytes ? ` ${percent(v, t.memory_bytes)} of ${gibibytes(t.memory_bytes)}` : ` does not fit into ${gibibytes(t.memory_bytes)}`)], 'needed_bytes'],
  ['bound', t => t.bound_s, v => seconds(v), 'bound_s'],
  ['expected time', t => t.expected_s, v => seconds(v), 'expected_s'],
  ['measured time', t => t.measured_s, v => seconds(v)],
];

function drawTiles(report) {
  const tiles = kTotals.filter(([, get]) => get(report.totals) !== null && get(report.totals) !== undefined)
      .map(([name, get, print, key]) => html('div', {class: 'tile'}, html('dt', {}, name),
          html('dd', {}, report.marks[key] || '', print(get(report.totals), report.totals))));
  return html('section', {id: 'summary'}, html('h2', {}, report.title),
      html('p', {class: 'hint'}, report.subtitle), html('dl', {class: 'tiles'}, tiles),
      report.notes.map(note => html('p', {class: 'hint'}, note)));
}

function change(value, base) {
  if (value === null || value === undefined || !base) return '';
  const delta = 100 * (value / base - 1);
  if (Math.abs(delta) < 0.05) return '';
  return html('small', {class: delta < 0 ? 'better' : 'worse'}, ` ${delta > 0 ? '+' : '−'}${Math.abs(delta).toFixed(1)} %`);
}

function drawComparison(reports) {
  const head = html('tr', {}, html('th', {class: 'plain'}, 'total'),
      reports.map(r => html('th', {class: 'plain num'}, r.short)));
  const totals = kTotals.filter(([, get]) => reports.some(r => get(r.totals) != null)).map(([name, get, print, key]) =>
      html('tr', {}, html('td', {}, name), reports.map((r, i) => html('td', {class: 'num'}, r.marks[key] || '', print(get(r.totals), r.totals),
          i ? change(get(r.totals), get(reports[0].totals)) : ''))));
  const measure = measureOf(reports);
  const ops = new Map();
  reports.forEach((r, i) => {
    for (const k of r.kernels) {
      if (!ops.has(k.ops)) ops.set(k.ops, reports.map(() => 0));
      ops.get(k.ops)[i] += measure.of(k);
    }
  });
  const most = Math.max(...[...ops.values()].flat(), 1e-12);
  const rows = [...ops].filter(([, times]) => Math.max(...times) > 0)
      .sort((a, b) => Math.max(...b[1]) - Math.max(...a[1])).slice(0, 12)
      .map(([op, times]) => html('tr', {}, html('td', {}, op), times.map((time, i) => html('td', {class: 'num'},
          html('span', {class: 'bar', style: `width:${Math.round(90 * time / most)}px;background:var(--c${i % 6})`}), ' ', measure.print(time)))));
  return html('section', {id: 'comparison'}, html('h2', {}, 'Comparison'),
      html('p', {class: 'hint'}, `Changes are against ${reports[0].short}. Below the totals: ${measure.name} by operators.`),
      scrollBox('comparison', html('table', {class: 'grid'}, html('thead', {}, head),
          html('tbody', {}, totals, html('tr', {}, html('td', {colspan: reports.length + 1}, html('b', {}, `${measure.name} by operators`))), rows))),
      reports.map(r => drawChanges(reports[0], r)));
}

// What was done to the model, in diff's words.
function drawChanges(first, report) {
  if (!report.changes) return '';
  const {headline, sentences, more} = report.changes;
  return html('div', {class: 'changes'}, html('h3', {}, `What changed: ${first.short} → ${report.short}`), html('p', {}, headline + (sentences.length ? ':' : '.')),
      html('ul', {}, sentences.map(sentence => html('li', {}, sentence)), more ? html('li', {}, `and ${integer(more)} more: dlcost diff tells all`) : '', onPaper(sentences.length, 3, 'li')));
}
