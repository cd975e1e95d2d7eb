'use strict';
// The roofs of a roofline: a level line for each rate of arithmetic, a slope for each memory.

// About what a text of 12 px takes.
const textWidth = text => 6.6 * text.length;

// Whether the box meets a dot, by its distance to the dot's centre.
const meetsDot = (box, dots) => dots.some(d => {
  const dx = Math.max(box.x0 - d.cx, 0, d.cx - box.x1), dy = Math.max(box.y0 - d.cy, 0, d.cy - box.y1);
  return dx * dx + dy * dy < (d.r + 2) ** 2;
});
const meetsBox = (a, boxes) => boxes.some(b => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1);

// The first of the places whose boxes are free of dots and of other labels, else the first.
function freePlace(places, dots, taken) {
  const free = places.find(place => place.boxes.every(box => !meetsDot(box, dots) && !meetsBox(box, taken))) ||
      places.find(place => place.boxes.every(box => !meetsBox(box, taken))) || places[0];
  taken.push(...free.boxes);
  return free;
}

// Draws the lines into the chart and returns their labels. `plot` has the scales x and y, the
// range x0 to y1 in decades and the edges left to bottom in pixels; `taken` are boxes of labels.
function drawRoofs(chart, roofs, plot, dots, taken) {
  const {x, y, x0, x1, y0, y1, left, right, top, bottom} = plot;
  const labels = svg('g', {class: 'labels'});  // above all lines and dots
  const highest = Math.max(...roofs.compute.map(c => c.peak));
  const steepest = Math.max(...roofs.memory.map(m => m.rate));
  const lines = new Map();  // equal peaks share a line and a label
  for (const roof of [...roofs.compute].sort((a, b) => b.peak - a.peak)) {
    const line = lines.get(roof.peak) || {pipes: new Map(), unit: roof.unit, used: false};
    line.pipes.set(roof.pipe, [...(line.pipes.get(roof.pipe) || []), roof.name]);
    line.used = line.used || roof.used;
    lines.set(roof.peak, line);
  }
  for (const [peak, {pipes, unit, used}] of lines) {
    const from = Math.max(left, x(Math.max(10 ** x0, peak / steepest))), at = y(peak);
    if (at < top - 1 || at > bottom || from >= right) continue;  // zoomed out of sight
    const text = [...pipes].map(([pipe, types]) => `${pipe} ${types.join(', ')}`).join('; ') + ` ${si(peak, unit)}`;
    const wide = textWidth(text);
    const places = [];
    for (let end = right; end - wide > left; end -= 12) {
      for (const above of [at - 5, at + 15]) {
        places.push({end, above, boxes: [{x0: end - wide, x1: end, y0: above - 11, y1: above + 3}]});
      }
    }
    if (!places.length) places.push({end: right, above: at - 5, boxes: []});
    const place = freePlace(places, dots, taken);
    chart.append(svg('line', {class: used ? 'roof' : 'roof unused', x1: from, x2: right, y1: at, y2: at}));
    labels.append(svg('text', {class: used ? 'strong halo' : 'halo', x: place.end, y: place.above, 'text-anchor': 'end'}, text));
  }
  for (const roof of roofs.memory) {
    // From the left or lower edge of the chart up to the highest compute roof.
    const from = Math.max(10 ** x0, 10 ** y0 / roof.rate), to = Math.min(10 ** x1, highest / roof.rate, 10 ** y1 / roof.rate);
    if (from >= to) continue;
    const [ax, ay, bx, by] = [x(from), y(from * roof.rate), x(to), y(to * roof.rate)];
    chart.append(svg('line', {class: roof.cache ? 'roof cache' : 'roof', x1: ax, y1: ay, x2: bx, y2: by}));
    const text = `${roof.name} ${si(roof.rate, 'B/s')}`, wide = textWidth(text);
    const length = Math.hypot(bx - ax, by - ay), [dx, dy] = [(bx - ax) / length, (by - ay) / length];
    if (length < 40) continue;
    const places = [];
    for (let start = 12; start + wide < length || !places.length; start += 14) {
      for (const off of [-6, 16]) {
        // The text as boxes of 10 px along the slope.
        const boxes = [];
        for (let along = 0; along <= wide; along += 10) {
          const cx = ax + dx * (start + along) + dy * (5 - off) * -1, cy = ay + dy * (start + along) + dx * (off - 5);
          boxes.push({x0: cx - 6, x1: cx + 6, y0: cy - 7, y1: cy + 7});
        }
        places.push({start, off, boxes});
      }
    }
    const place = freePlace(places, dots, taken);
    const angle = Math.atan2(dy, dx) * 180 / Math.PI;
    labels.append(svg('text', {class: 'strong halo',
      transform: `translate(${(ax + dx * place.start).toFixed(1)} ${(ay + dy * place.start).toFixed(1)}) rotate(${angle.toFixed(1)}) translate(0 ${place.off})`}, text));
  }
  return labels;
}
