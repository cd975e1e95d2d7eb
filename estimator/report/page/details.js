'use strict';
// One kernel in full: what it does, what was measured beside what is expected, and where the expected time comes from.

function stepRows(steps) {
  return steps.terms.map(term => html('tr', {}, html('td', {style: `padding-left:${8 + 16 * term.level}px`}, term.what),
      html('td', {class: 'num'}, term.value), html('td', {class: 'note'}, term.reason)));
}

function drawDetails(report) {
  const total = report.kernels.reduce((sum, k) => sum + timeOf(k), 0);
  const hint = html('p', {class: 'hint'}, 'Click a dot, a bar or a row: what it does, and where its time comes from.');
  const body = html('div', {'aria-live': 'polite'}, hint);
  function show(kernel) {
    if (!kernel) { body.replaceChildren(hint); return; }
    const facts = html('table', {class: 'grid'}, html('tbody', {}, kernelRows(kernel, total).filter(row => row)
        .map(([name, value]) => html('tr', {}, html('td', {}, name), html('td', {class: 'num'}, value)))));
    const steps = report.steps(kernel.steps);
    const against = kernel.measured > 0 && kernel.expected > 0
        ? html('p', {}, `Measured ${seconds(kernel.measured)}, expected ${seconds(kernel.expected)}: ${ratio(kernel.measured / kernel.expected)} times as long.`) : '';
    body.replaceChildren(html('h3', {}, kernel.label), against, html('div', {class: 'columns'}, facts,
        steps ? html('div', {}, html('table', {class: 'grid steps'}, html('caption', {}, 'Where the expected time comes from'), html('tbody', {}, stepRows(steps))),
            steps.advice.map(text => html('p', {class: 'hint'}, text)))
            : kernel.expected !== null ? html('p', {class: 'hint'}, `dlcost explain MODEL --node ${kernel.label} tells where its expected time comes from.`) : ''));
  }
  picked.listeners.push(show);
  return html('section', {id: 'details'}, html('h2', {}, 'One kernel'), body);
}
