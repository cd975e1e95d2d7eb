'use strict';
// What a profile tells without a model: its summary, the roofline of its kernels, its tables.

function profileRows(kernel, total) {
  return [
    kernel.ops && ['family', kernel.ops], kernel.scope && ['belongs to', kernel.scope], kernel.algorithm && ['grid', kernel.algorithm],
    kernel.launches !== null && ['launches', integer(kernel.launches)],
    ['time', seconds(kernel.time)], ['share of time', percent(timeOf(kernel), total)],
    ['work', si(kernel.flops, 'FLOP')], ['reached', si(kernel.flop_rate, 'FLOP/s')],
    ['traffic', si(kernel.bytes, 'B')], ['at', si(kernel.byte_rate, 'B/s')],
    kernel.intensity !== null && ['intensity', ratio(kernel.intensity) + ' FLOP/B'],
    kernel.occupancy !== null && ['occupancy', percent(kernel.occupancy, 1)],
    kernel.bound !== null && ['at the roof', seconds(kernel.bound)],
    ['limited by', kernel.limiter],
  ];
}

function drawProfileTable(table) {
  const align = i => table.left[i] ? '' : 'num';
  const head = html('tr', {}, table.head.map((name, i) => html('th', {class: `plain ${align(i)}`}, name)));
  const rows = table.rows.map(row => html('tr', {}, row.map((text, i) => html('td', {class: align(i)}, text))));
  return html('section', {id: table.key}, html('h2', {}, table.title),
      scrollBox(table.title, html('table', {class: 'grid sums'}, html('thead', {}, head), html('tbody', {}, rows))),
      onPaper(rows.length, 6, 'p'),
      table.left_out ? html('p', {class: 'hint'}, `${integer(table.left_out)} more rows are not shown.`) : '');
}

function drawProfile(report) {
  const lines = report.profile.lines.map(([label, text]) => html('tr', {}, html('td', {}, html('b', {}, label)), html('td', {}, text)));
  const summary = html('section', {id: 'summary'},
      scrollBox('summary', html('table', {class: 'grid lines'}, html('tbody', {}, lines))));
  return [summary, drawRoofline(report), ...report.profile.tables.map(drawProfileTable),
    report.device.facts.length ? drawFacts(report) : ''];
}
