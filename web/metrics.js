// Reads the text of /metrics (Prometheus exposition 0.0.4).

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;

// Sum of the samples of each name, whatever their labels; buckets of histograms are left out.
export function parseMetrics(text) {
  const sums = new Map();
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : LINE.exec(line);
    if (!found || found[1].endsWith('_bucket')) continue;
    const value = Number(found[3]);
    if (Number.isFinite(value)) sums.set(found[1], (sums.get(found[1]) ?? 0) + value);
  }
  return sums;
}

// Snapshots of the last minute, and what can be said about them.
export class MetricHistory {
  constructor(keptMs = 60_000) {
    this.keptMs = keptMs;
    this.points = [];  // {at, sums}
  }

  add(at, sums) {
    this.points.push({at, sums});
    while (this.points.length > 2 && at - this.points[0].at > this.keptMs) this.points.shift();
  }

  latest(name) { return this.points.at(-1)?.sums.get(name) ?? 0; }
  has(name) { return this.points.at(-1)?.sums.has(name) ?? false; }
  series(name) { return this.points.map(({sums}) => sums.get(name) ?? 0); }

  // Growth per second of a counter between neighbouring snapshots; a restarted server begins at 0 again.
  rates(name) {
    return this.points.slice(1).map(({at, sums}, index) => {
      const before = this.points[index];
      const grown = (sums.get(name) ?? 0) - (before.sums.get(name) ?? 0);
      return at > before.at ? Math.max(0, (1000 * grown) / (at - before.at)) : 0;
    });
  }

  // Mean of a histogram's observations within the kept time; null without one.
  mean(name) {
    const first = this.points[0]?.sums, last = this.points.at(-1)?.sums;
    if (!last) return null;
    const grown = (suffix) => (last.get(name + suffix) ?? 0) - (first.get(name + suffix) ?? 0);
    const count = grown('_count');
    return count > 0 ? grown('_sum') / count : null;
  }
}
