'use strict';
// Where the time goes, or the work where no device is given: an icicle, by module scope or by operator. A click zooms, the top bar
// leads back.

function buildTree(kernels, weigh, pathOf) {
  const root = {name: 'all', time: 0, children: new Map(), kernel: null};
  for (const kernel of kernels) {
    const time = weigh(kernel);
    if (time <= 0) continue;
    let node = root;
    node.time += time;
    for (const part of pathOf(kernel)) {
      if (!node.children.has(part)) node.children.set(part, {name: part, time: 0, children: new Map(), kernel: null, parent: node});
      node = node.children.get(part);
      node.time += time;
    }
    const leaf = {name: kernel.label, time, children: new Map(), kernel, parent: node};
    node.children.set('\u0000' + kernel.index, leaf);
  }
  return root;
}

// "0..11", "k, q, v", "a, b, c, ...": the names of what is one cell.
function namesTogether(names) {
  if (names.every(name => name === names[0])) return names[0];
  const [, stem, first] = /^(.*?)(\d*)$/.exec(names[0]);
  const counts = first !== '' && names.every((name, i) => name === stem + (Number(first) + i));
  return counts ? `${names[0]}..${Number(first) + names.length - 1}` : names.slice(0, 3).join(', ') + (names.length > 3 ? ', ...' : '');
}

// Neighbours below one module that do the same in the same order become one with a count, as with `--by layer`.
function foldTree(root) {
  const numbers = new Map();  // equal texts have equal numbers
  const numberOf = text => numbers.get(text) ?? (numbers.set(text, numbers.size), numbers.size - 1);
  const merge = (into, other) => {
    into.time += other.time;
    into.count = (into.count || 1) + (other.count || 1);
    const others = [...other.children.values()];
    [...into.children.values()].forEach((child, i) => merge(child, others[i]));
  };
  const fold = node => {
    if (node.kernel) {
      node.name = node.kernel.ops;  // it may come to stand for several
      const {ops, flops, bytes, launches} = node.kernel;
      node.shape = numberOf(`kernel ${ops} ${flops} ${bytes} ${launches}`);
      return;
    }
    const kept = new Map();
    for (const child of node.children.values()) {
      fold(child);
      const same = kept.get(child.shape);
      if (!same) {
        kept.set(child.shape, child);
        child.names = [child.name];
        continue;
      }
      merge(same, child);
      same.names.push(child.name);
    }
    node.children = kept;
    for (const child of kept.values()) {
      child.times = child.names.length;
      child.name = namesTogether(child.names);
    }
    node.shape = numberOf([...kept.values()].map(child => `${numberOf(child.name)} ${child.times} ${child.shape}`).join());
  };
  fold(root);
  return root;
}
const hasRepeats = node => node.times > 1 || [...node.children.values()].some(hasRepeats);

const kBarColors = ['var(--c0)', 'var(--c4)', 'var(--c2)', 'var(--c3)', 'var(--c5)', 'var(--c1)'];

function drawIcicle(report) {
  const measure = measureOf([report]);
  const modules = k => k.scope ? k.scope.split(/[/.]/).filter(part => part) : [];
  const trees = {
    layer: foldTree(buildTree(report.kernels, measure.of, modules)),
    scope: buildTree(report.kernels, measure.of, modules),
    operator: buildTree(report.kernels, measure.of, k => [k.ops]),
  };
  const section = html('section', {id: 'icicle'});
  let mode = hasRepeats(trees.layer) ? 'layer' : trees.scope.children.size > 1 || [...trees.scope.children.values()].some(c => !c.kernel) ? 'scope' : 'operator';
  let focus = trees[mode];
  const holder = fitted(width => chart(width));
  const buttons = Object.keys(trees).map(name => html('button', {type: 'button', 'data-mode': name,
    onclick: () => { mode = name; focus = trees[mode]; draw(); }}, 'by ' + name));
  section.append(html('div', {class: 'row'}, html('h2', {}, measure.heading), buttons),
      html('p', {class: 'hint'}, `Width is ${measure.name}; by layer, what repeats is one bar with a count. Click to zoom in; click the top bar to go back.`), holder);

  function chart(width) {
    const rowHeight = 26;
    const total = trees[mode].time;
    let depth = 0;
    const cells = [];
    const place = (node, from, to, level, color) => {
      depth = Math.max(depth, level);
      cells.push(cell(node, from, to, level, color));
      let at = from;
      const children = [...node.children.values()];
      if (mode === 'operator') children.sort((a, b) => b.time - a.time);
      let small = [];  // neighbours narrower than a pixel, drawn as one
      const flush = () => {
        const time = small.reduce((sum, child) => sum + child.time, 0);
        const wide = (to - from) * time / node.time;
        if (wide >= 0.5) {
          depth = Math.max(depth, level + 1);
          cells.push(cell(merged(node, small, time), at - wide, at, level + 1, 'var(--faint)'));
        }
        small = [];
      };
      children.forEach((child, i) => {
        const next = at + (to - from) * child.time / node.time;
        if (next - at < 1.2) {
          small.push(child);
          at = next;
          return;
        }
        flush();
        place(child, at, next, level + 1, child.kernel ? limiterColor(child.kernel.limiter)
            : level === 0 ? kBarColors[i % kBarColors.length] : color);
        at = next;
      });
      flush();
    };
    // Opens as a module does: however many parts, each can be reached.
    const merged = (parent, nodes, time) => nodes.length === 1 ? nodes[0]
        : {name: `${nodes.length} small parts`, time, children: new Map(nodes.map((node, i) => [i, node])), kernel: null, parent};
    const cell = (node, from, to, level, color) => {
      const text = `${node.name}${node.times > 1 ? ' ×' + node.times : ''} ${percent(node.time, total)}`;
      const room = Math.floor((to - from - 10) / 6.6);
      const box = svg('rect', {class: to - from < 4 ? 'cell thin' : 'cell', x: from.toFixed(1), y: level * rowHeight, width: (to - from).toFixed(1), height: rowHeight,
        style: `fill:color-mix(in srgb, ${color} 78%, #000)`});
      const several = node.kernel && node.count > 1;
      pointable(box, node.name, () => several ? [['kernels', integer(node.count)], [measure.unit + ' of all', measure.print(node.time)], ['share', percent(node.time, total)], ['the first', node.kernel.label], ...kernelRows(node.kernel, total)]
          : node.kernel ? kernelRows(node.kernel, total)
          : [[measure.unit, measure.print(node.time)], ['share', percent(node.time, total)], node.times > 1 && ['times', integer(node.times)]], () => {
        if (node.kernel) { picked.set(node.kernel, 'icicle'); return; }
        focus = node === focus ? node.parent || node : node;
        draw();
      });
      return svg('g', {'data-name': node.name}, box,
          room >= 4 ? svg('text', {class: 'cell-text', x: (from + 5).toFixed(1), y: level * rowHeight + 17},
              text.length <= room ? text : text.slice(0, room - 1) + '…') : null);
    };
    if (focus.time > 0) place(focus, 0, width, 0, 'var(--faint)');
    const drawn = svg('svg', {viewBox: `0 0 ${width} ${(depth + 1) * rowHeight}`, role: 'group',
      'aria-label': `${measure.heading}, by ${mode}; arrow keys move between parts, Enter opens one`}, cells);
    oneStop(drawn);
    return drawn;
  }
  function draw() {
    hideTip();
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.mode === mode));
    const had = holder.contains(document.activeElement);
    holder.redraw();
    if (had) holder.querySelector('[data-stop]').focus();
  }
  draw();
  return section;
}
