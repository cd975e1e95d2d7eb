'use strict';
// The kernel table: sortable, filtered, and drawn only where it is visible, so that thousands of
// rows scroll smoothly.

const kKernelColumns = [
  {name: 'kernel', key: 'label', text: k => k.label},
  {name: 'operators', key: 'ops', text: k => k.ops},
  {name: 'algorithm', key: 'algorithm', text: k => k.algorithm},
  {name: 'limited by', key: 'limiter', text: k => k.limiter},
  {name: 'MACs', key: 'macs', text: k => si(k.macs, '')},
  {name: 'FLOP', key: 'flops', text: k => si(k.flops, '')},
  {name: 'bytes', key: 'bytes', text: k => si(k.bytes, 'B')},
  {name: 'FLOP/B', key: 'intensity', text: k => k.flops > 0 ? ratio(k.intensity) : '–'},
  {name: 'bound', key: 'bound', text: k => seconds(k.bound)},
  {name: 'expected', key: 'expected', text: k => seconds(k.expected)},
  {name: 'measured', key: 'measured', text: k => seconds(k.measured)},
  {name: 'measured FLOP', key: 'measuredFlops', text: k => si(k.measuredFlops, '')},
  {name: 'measured bytes', key: 'measuredBytes', text: k => si(k.measuredBytes, 'B')},
  {name: 'certainty', key: 'certainty', text: k => k.certainty},
  {name: 'share', key: 'time', text: (k, total) => percent(timeOf(k), total)},
];
const kTextColumns = new Set(['label', 'ops', 'algorithm', 'limiter', 'certainty']);

function drawTable(report) {
  const hasAlgorithm = report.kernels.some(k => k.algorithm);
  const hasExpected = report.kernels.some(k => k.expected !== null);
  const isExact = report.kernels.every(k => k.certainty === 'exact');
  const columns = kKernelColumns.filter(c => (c.key !== 'certainty' || !isExact) && (!c.key.startsWith('measured') || report.kernels.some(k => k[c.key] !== null)) && (c.key !== 'expected' || hasExpected) && (c.key !== 'algorithm' || hasAlgorithm));
  const total = report.kernels.reduce((sum, k) => sum + timeOf(k), 0);
  const rowHeight = 27;
  let order = {key: 'time', down: true};
  let rows = [];

  const filter = html('input', {type: 'search', placeholder: 'filter by name, operator or limiter', 'aria-label': 'Filter kernels', size: 34, oninput: update});
  const count = html('span', {class: 'hint'});
  const heads = columns.map(column => html('th', {class: kTextColumns.has(column.key) ? '' : 'num', 'aria-sort': 'none'},
      html('button', {type: 'button', 'data-key': column.key, onclick: () => {
        order = {key: column.key, down: order.key === column.key ? !order.down : !kTextColumns.has(column.key)};
        update();
      }}, column.name)));
  const body = html('tbody', {});
  const box = html('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'kernels', onscroll: render},
      html('table', {class: 'grid fixed'}, html('thead', {}, html('tr', {}, heads)), body));

  function value(kernel, key) { return key === 'time' ? timeOf(kernel) : kernel[key]; }
  function update() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(word => word);
    rows = report.kernels.filter(k => {
      const text = `${k.label} ${k.ops} ${k.algorithm} ${k.limiter} ${k.scope}`.toLowerCase();
      return words.every(word => text.includes(word));
    });
    const sign = order.down ? -1 : 1;
    rows.sort((a, b) => {
      const [u, v] = [value(a, order.key), value(b, order.key)];
      if (u === v) return a.index - b.index;
      if (u === null || v === null) return u === null ? 1 : -1;  // the unknown last
      return u < v ? -sign : sign;
    });
    columns.forEach((column, i) => heads[i].setAttribute('aria-sort',
        column.key !== order.key ? 'none' : order.down ? 'descending' : 'ascending'));
    heads.forEach((head, i) => {
      const mark = columns[i].key !== order.key ? '' : order.down ? ' ▼' : ' ▲';
      head.firstChild.textContent = columns[i].name + mark;
    });
    count.textContent = rows.length === report.kernels.length ? `${integer(rows.length)} kernels`
        : `${integer(rows.length)} of ${integer(report.kernels.length)} kernels`;
    render();
  }
  // On paper there is no scrolling: the first rows, and how many there are.
  const kPrinted = 16;
  let printing = false;
  window.addEventListener('beforeprint', () => { printing = true; render(); });
  window.addEventListener('afterprint', () => { printing = false; render(); });
  function render() {
    const first = printing ? 0 : Math.max(0, Math.floor(box.scrollTop / rowHeight) - 8);
    const last = Math.min(rows.length, printing ? kPrinted : first + Math.ceil((box.clientHeight || 480) / rowHeight) + 16);
    const spacer = height => html('tr', {class: 'spacer'}, html('td', {colspan: columns.length, style: `height:${height}px`}));
    body.replaceChildren(spacer(first * rowHeight),
        ...rows.slice(first, last).map(kernel => html('tr', {class: kernel === picked.kernel ? 'picked' : '', onclick: () => picked.set(kernel, 'table')},
            columns.map(column => {
              const text = column.text(kernel, total) || '–';
              return html('td', {class: kTextColumns.has(column.key) ? '' : 'num', title: text.length > 40 ? text : null}, text);
            }))),
        spacer((rows.length - last) * rowHeight));
  }
  picked.listeners.push((kernel, source) => {
    const at = rows.indexOf(kernel);
    if (kernel && source !== 'table' && at >= 0) box.scrollTop = Math.max(0, (at - 5) * rowHeight);
    render();
  });
  update();
  return html('section', {id: 'kernels'},
      html('div', {class: 'row'}, html('h2', {}, 'Kernels'), count, filter), box);
}
