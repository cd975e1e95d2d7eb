'use strict';
// The dots of a roofline: where they stand, how large they are, and which of them are one.

// Kernels that would hide each other are one dot with a count: [{cx, cy, r, time, kernels}], the
// largest first. `place` gives a kernel's point on the chart, `room` is the chart's area.
function groupDots(kernels, place, room) {
  const sorted = [...kernels].sort((a, b) => timeOf(b) - timeOf(a) || a.index - b.index);
  // All dots together cover a twentieth of the chart, so that many of them stay apart.
  const radiusAmong = times => {
    const largest = times.reduce((a, b) => Math.max(a, b), 0) || 1;
    const areas = times.reduce((sum, time) => sum + time / largest, 0);
    const widest = Math.min(24, Math.max(5, Math.sqrt(room / 20 / Math.PI / areas)));
    return time => 2 + widest * Math.sqrt(time / largest);
  };
  const radius = radiusAmong(sorted.map(timeOf));
  const kCell = 24;  // wider than any two dots that join
  const grid = new Map();
  const groups = [];
  for (const kernel of sorted) {
    const [cx, cy] = place(kernel);
    const [column, row] = [Math.floor(cx / kCell), Math.floor(cy / kCell)];
    const own = radius(timeOf(kernel));
    let joined = null;
    for (let i = -1; i <= 1 && !joined; ++i) {
      for (let j = -1; j <= 1 && !joined; ++j) {
        joined = (grid.get(`${column + i},${row + j}`) || []).find(g =>
            Math.hypot(g.cx - cx, g.cy - cy) <= Math.max(5, 0.6 * own));
      }
    }
    if (joined) {
      joined.kernels.push(kernel);
      joined.time += timeOf(kernel);
      continue;
    }
    const group = {cx, cy, time: timeOf(kernel), kernels: [kernel]};
    groups.push(group);
    const key = `${column},${row}`;
    if (!grid.has(key)) grid.set(key, []);
    grid.get(key).push(group);
  }
  const together = radiusAmong(groups.map(group => group.time));
  for (const group of groups) group.r = together(group.time);
  return groups.sort((a, b) => b.time - a.time);
}

// What a dot of several kernels says: what they have in common, and the longest of them.
function groupRows(group, total) {
  const rows = [['kernels', integer(group.kernels.length)], ['time', seconds(group.time)], ['share of time', percent(group.time, total)]];
  const limiters = new Map();
  for (const k of group.kernels) limiters.set(k.limiter || 'unknown', (limiters.get(k.limiter || 'unknown') || 0) + 1);
  rows.push(['limited by', [...limiters].map(([name, count]) => limiters.size > 1 ? `${name} (${count})` : name).join(', ')]);
  for (const kernel of group.kernels.slice(0, 5)) rows.push([kernel.label, seconds(timeOf(kernel))]);
  if (group.kernels.length > 5) rows.push([`and ${integer(group.kernels.length - 5)} more`, '']);
  return rows;
}
