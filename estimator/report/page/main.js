'use strict';
// Reads the page's data, and puts the sections of the chosen report on the page.

const kTexts = new Set(['label', 'ops', 'scope', 'algorithm', 'tile', 'limiter', 'bound_limiter', 'certainty']);

function unpackRow(columns, strings, row) {
  const unpacked = {};
  columns.forEach((column, i) => { unpacked[column] = kTexts.has(column) ? strings[row[i]] : row[i]; });
  unpacked.intensity = unpacked.bytes > 0 ? unpacked.flops / unpacked.bytes : null;
  return unpacked;
}

// Kernels travel as rows of numbers and indices into a table of strings; those of a report as names and a kind, which says the rest.
function unpack(report) {
  if (report.sweep) return report;
  const {columns, rows} = report.kernel_table;
  if (report.profile) {
    report.kernels = rows.map((row, index) => ({index, ...unpackRow(columns, report.kernel_table.names, row)}));
    return report;
  }
  const strings = report.strings;
  const kinds = report.kernel_table.kinds.map(kind => unpackRow(columns, strings, kind));
  report.kernels = rows.map(([name, scope, kind, measured = null, measuredFlops = null, measuredBytes = null], index) => {
    const label = strings[name];
    return Object.assign(Object.create(kinds[kind]), {index, label, kind, measured, measuredFlops, measuredBytes, scope: scope < 0 ? label.slice(1, label.lastIndexOf('/')) : strings[scope]});
  });
  report.memory.label = i => strings[report.memory.names[i]];
  report.steps = i => i === null || i === undefined ? null : {
    terms: report.kernel_table.steps[i][0].map(([level, what, value, reason]) => ({level, what: strings[what], value: strings[value], reason: strings[reason]})),
    advice: report.kernel_table.steps[i][1].map(text => strings[text]),
  };
  return report;
}

function drawFacts(report) {
  const section = html('section', {id: 'device'});
  if (!report.device.facts.length) return section;
  const rows = report.device.facts.map(fact => html('tr', {}, html('td', {}, fact.path), html('td', {}, fact.text),
      html('td', {}, fact.source), html('td', {class: 'note'}, [fact.elsewhere, fact.note, fact.differs].filter(text => text).join(' '))));
  const head = ['fact', 'value', 'source', 'notes'].map(name => html('th', {class: 'plain'}, name));
  section.append(html('details', {}, html('summary', {}, `${report.device.name}: facts and their sources`),
      scrollBox('facts of the device', html('table', {class: 'grid facts'}, html('thead', {}, html('tr', {}, head)), html('tbody', {}, rows)))));
  return section;
}

// What is not exact, before the totals are believed.
function drawCertainty(report) {
  if (!report.certainty.length) return '';
  const rows = report.certainty.map(line => html('tr', {}, html('td', {}, html('b', {}, line.label)), html('td', {}, line.text)));
  return html('section', {id: 'certainty'}, html('h2', {}, 'How certain these numbers are'),
      scrollBox('how certain the numbers are', html('table', {class: 'grid'}, html('tbody', {}, rows))));
}

function drawUnknown(report) {
  if (!report.unknown.length) return '';
  const rows = report.unknown.map(item => html('tr', {}, html('td', {}, item.node), html('td', {}, item.op), html('td', {class: 'note'}, item.why)));
  return html('section', {id: 'unknown'}, html('h2', {}, 'Not in these numbers'),
      scrollBox('operators of unknown cost', html('table', {class: 'grid'}, html('tbody', {}, rows))));
}

function start() {
  const data = JSON.parse(document.getElementById('data').textContent);
  const reports = data.reports.map(unpack);
  // Side by side, what they differ in names them.
  const differ = key => new Set(reports.map(report => report[key])).size > 1;
  const apart = new Set(reports.map(report => report.model + report.on)).size === reports.length;
  const others = (apart ? ['model', 'on'] : ['model', 'on', 'sizes']).filter(differ);
  const joint = {model: '', on: ' on ', sizes: ', '};
  reports.forEach(report => {
    report.short = others.map((key, i) => (i ? joint[key] : '') + report[key]).join('') || report.title;
  });
  const place = html('div', {id: 'report'});
  const tabs = reports.map((report, i) => html('button', {type: 'button', onclick: () => show(i)}, report.short));

  function show(i) {
    picked.kernel = null;
    picked.listeners.length = 0;
    hideTip();
    tabs.forEach((tab, j) => tab.setAttribute('aria-pressed', String(i === j)));
    const report = reports[i];
    if (report.profile || report.sweep) {
      const draw = report.profile ? drawProfile : drawSweep;
      place.replaceChildren(...draw(report).filter(part => part));
      place.querySelectorAll('section').forEach(offerPictures);
      return;
    }
    place.replaceChildren(...[drawCertainty(report), drawTiles(report), drawRoofline(report), drawDetails(report), drawIcicle(report), drawMemory(report),
      drawTable(report), drawUnknown(report), drawFacts(report)].filter(part => part));
    place.querySelectorAll('section').forEach(offerPictures);
  }
  const theme = html('button', {type: 'button', id: 'theme', onclick: () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  }}, 'light / dark');
  document.body.append(html('main', {class: reports.length > 1 ? 'several' : null}, html('header', {}, html('h1', {}, data.title), theme),
      reports.length > 1 && !reports[0].profile ? drawComparison(reports) : '',
      reports.length > 1 ? html('div', {class: 'tabs'}, tabs) : '', place, html('footer', {}, reports[0].sweep ? 'Written by dlcost. Times are those expected of good kernels.'
          : reports[0].profile ? 'Written by dlcost from what a profiler measured.'
          : 'Written by dlcost. Bound: no kernel can be faster. Expected: what a good kernel takes.')), tip);
  show(0);
}
start();
