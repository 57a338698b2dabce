// Scores and explains rows by a model that deciban exported; docs/export-json.md describes the document.
// A row is an object: numbers, texts, booleans, dates (a Date by its UTC fields, or ISO text) or null, by column.
const DECIBAN = 10 / Math.LN10, LOG_2PI = Math.log(2 * Math.PI), MAX_LOG_ODDS = 1e100;
const MISSING_NUMBERS = new Set(["", "None", "-", "."]), WORDS = [["true", "yes"], ["false", "no"]];
const SHORT_WORDS = [["t", "y", "1", "1.0"], ["f", "n", "0", "0.0"]]; // truth values where every level is one
const cases = (words) => words.flatMap((w) => [w, w[0].toUpperCase() + w.slice(1), w.toUpperCase()]);
const LONG_TRUTHS = WORDS.map(cases), TRUTHS = LONG_TRUTHS.map((words, i) => [...words, ...cases(SHORT_WORDS[i])]);
const PARTS = {
  month: (date) => String(date.getUTCMonth() + 1).padStart(2, "0"),
  weekday: (date) => ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][date.getUTCDay()],
  hour: (date) => String(date.getUTCHours()).padStart(2, "0"),
};
// An ISO date, a time of day, or both; seconds and time zones are ignored.
const ISO = /^(?=\d)(?:(\d{4}-\d\d-\d\d)(?:[T ](?=\d)|$))?(?:(\d\d:\d\d)(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;
const finite = (numbers) => numbers.map((x) => (x === null ? -Infinity : x)); // null is −∞
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const greatest = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);
const isFlag = (levels) => levels.every((level) => TRUTHS.some((words) => words.includes(level)));
function findLevel(x, levels, flag) { // the level that a value stands for: its text, else the one of the same value
  const text = String(x), stem = /^-?[0-9]+(\.0)?$/.test(text) ? text.replace(/\.0$/, "") : null;
  if (levels.has(text)) return text;
  const words = (flag ? TRUTHS : LONG_TRUTHS).find((each) => each.includes(text));
  const zeros = ["0", "0.0", "-0", "-0.0"];
  const known = (words ?? (zeros.includes(text) ? zeros : stem === null ? [] : [stem, `${stem}.0`])).filter((each) => levels.has(each));
  return new Set(known).size === 1 ? known[0] : text;
}
const split = (level) => level.split(" & ").map((part) => part.replace(/\\(.)/gs, "$1"));
const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
const logSigmoid = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));
const logSumExp = (s, top = greatest(s)) => top === -Infinity ? top : top + Math.log(sum(s.map((x) => Math.exp(x - top))));
const normalise = (s, top = greatest(s), rest = logSumExp(s.map((x) => x - top))) => s.map((x) => x - top - rest);
function logOdds(logPosterior, k) {
  const own = Math.min(logPosterior[k], 0), others = logPosterior.filter((_, l) => l !== k);
  const odds = own - (own > -1e-6 ? logSumExp(others) : Math.log1p(-Math.exp(own)));
  return Math.min(Math.max(odds, -MAX_LOG_ODDS), MAX_LOG_ODDS);
}
function interpolate(x, { claimed, true: y }) {
  const i = claimed.findIndex((c) => x < c);
  if (i <= 0) return i ? y[y.length - 1] : y[0];
  return y[i - 1] + ((y[i] - y[i - 1]) / (claimed[i] - claimed[i - 1])) * (x - claimed[i - 1]);
}
function invert(matrix) { // Gauss–Jordan elimination of a positive definite matrix; also ln of its determinant
  const d = matrix.length, rows = matrix.map((row, i) => [...row, ...row.map((_, j) => Number(i === j))]);
  let logDet = 0;
  for (let i = 0; i < d; i++) {
    logDet += Math.log(rows[i][i]);
    rows[i] = rows[i].map((v, _, row) => v / row[i]);
    rows.forEach((row, r) => { if (r !== i) rows[r] = row.map((v, j) => v - row[i] * rows[i][j]); });
  }
  return [rows.map((row) => row.slice(d)), logDet];
}
const range = (first, last) => Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
const ngrams = (items, low, high, glue) => range(low, Math.min(high, items.length))
  .flatMap((n) => range(0, items.length - n).map((i) => items.slice(i, i + n).join(glue)));
// The score of a value under each class, by the kind of term.
const SCORES = {
  gaussian(t, x) {
    const floor = t.floor ?? -Infinity, peak = (v) => Math.max(-0.5 * (LOG_2PI + Math.log(v)), floor);
    let s = t.variance.map((v, k) => Math.max(peak(v) - (0.5 * (x - t.mean[k]) ** 2) / v, floor));
    if (t.shares) {
      const mixed = logSumExp(s.map((v, k) => v + Math.log(t.shares[k])));
      s = s.map((v, k) => (t.shares[k] === 0 ? mixed : v));
    }
    const weigh = (v) => (v > -Infinity || t.weight > 0 ? t.weight * v : 0);
    return s.map((v, k) => weigh(v) + (t.offset?.[k] ?? 0));
  },
  poisson: (t, x) => t.rate.map((rate) => {
    const deviance = x * (Math.log(x > 0 ? x : 1) - Math.log(rate > 0 ? rate : 1)) - x + rate;
    return -t.weight * (deviance < t.bound ? deviance : t.bound);
  }),
  linear(t, x) {
    const limited = t.limits ? Math.min(Math.max(x, t.limits[0]), t.limits[1]) : x;
    return t.weights.map((w, k) => (t.impossible?.[k] && x !== 0 ? -Infinity : w * limited + (t.offset?.[k] ?? 0)));
  },
  bins: (t, x) => finite(t.scores.map((s) => s[t.cuts.filter((cut) => cut <= x).length])),
  levels: (t, place) => finite(place < 0 ? t.unseen : t.scores.map((s) => s[place])),
  text: (t, words) => words.reduce((s, { scores }) => s.map((v, k) => v + scores[k]), t.weights.map(() => 0)),
};
export class Model {
  constructor(document) {
    const { format, version, classes, markers, features, terms, calibration, bias } = document;
    if (format !== "deciban score form" || version !== 1) throw new TypeError("this is not a model of deciban");
    Object.assign(this, { document, classes, terms, calibration, bias, markers: new Set(markers) });
    this.features = new Map(features.map((feature) => [feature.name, feature]));
    this.logPrior = finite(document.log_prior);
    const old = finite((calibration ?? document).log_prior);
    this.intercept = old.map((p, k) => p + bias[k]);
    this.slope = calibration?.t ?? calibration?.slope ?? 1; // of the evidence: the prior is not multiplied
    this.lift = old.map((p) => (p === -Infinity ? p : (1 - this.slope) * p));
    this.shift = old.map((p, k) => (p === -Infinity ? 0 : this.logPrior[k] - p));
    const named = terms.filter((t) => t.levels ?? t.words);
    this.places = new Map(named.map((t) => [t, new Map((t.levels ?? t.words).map((name, i) => [name, i]))]));
    this.levels = new Map(terms.filter((t) => t.levels).map((t) => [t, this.features.get(t.feature).columns.map((_, i, all) =>
      new Set(t.levels.map((level) => (all.length > 1 ? split(level)[i] : level))))]));
    this.flags = new Map([...this.levels].map(([t, columns]) => [t, columns.map((each) => isFlag([...each]))]));
  }
  number(name, row) { // NaN where it is missing
    const { columns: [column], minimum = -Infinity } = this.features.get(name), value = row[column], x = Number(value);
    const isMarker = typeof value === "string" && (MISSING_NUMBERS.has(value.trim()) || this.markers.has(value));
    if (isMissing(value) || isMarker) return NaN;
    if (Number.isFinite(x) && x >= minimum) return x;
    throw new RangeError(`column ${column} holds ${value}, which is not a valid number`);
  }
  level(t, row) { // its place; −1 where it is unseen, NaN where it is missing
    const { columns, part, numeric } = this.features.get(t.feature), cells = columns.map((column) => row[column]);
    const isNone = (cell, i) => numeric?.[i] && typeof cell === "string" && MISSING_NUMBERS.has(cell.trim());
    if (cells.some((cell, i) => isMissing(cell) || this.markers.has(cell) || isNone(cell, i))) return NaN;
    if (part) return this.places.get(t).get(PARTS[part](this.date(cells[0], columns[0]))) ?? -1;
    const read = (cell, i) => (numeric[i] && !Number.isNaN(Number(cell)) ? Number(cell) : cell);
    const found = cells.map((cell, i) => findLevel(read(cell, i), this.levels.get(t)[i], this.flags.get(t)[i]));
    const name = found.length > 1 ? found.map((s) => s.replace(/[\\&]/g, "\\$&")).join(" & ") : found[0];
    const place = this.places.get(t).get(name) ?? -1;
    if (place >= 0 || this.document.unseen !== "error") return place;
    throw new RangeError(`column ${columns} holds ${cells}, which was never seen in training`);
  }
  date(cell, column) { // as its text says, whatever the time zone
    const [isIso, day = "1970-01-01", time = "00:00"] = ISO.exec(String(cell).trim()) ?? [];
    const date = cell instanceof Date ? cell : new Date(isIso ? `${day}T${time}Z` : NaN);
    if (!Number.isNaN(date.getTime()) && (!isIso || date.toISOString().startsWith(day))) return date; // not 30 February
    throw new RangeError(`column ${column} holds ${cell}, which is not a Date or an ISO text such as 2024-02-01T14:30`);
  }
  tokens(text) {
    const { lower, tokens, ngrams: [low, high], stop, least_length: least, characters } = this.document.words;
    if (lower) text = text.toLowerCase();
    const squeeze = () => [...text.replace(new RegExp(`[${characters.space}]{2,}`, "gu"), " ")];
    if (tokens === "characters") return ngrams(squeeze(), low, high, "");
    const word = `[${characters.word}]+`, single = `[^${characters.word}${characters.space}]`;
    const pattern = { words: word, "words and punctuation": `${word}|${single}` }[tokens] ?? `[^${characters.space}]+`;
    const runs = text.match(new RegExp(pattern, "gu")) ?? [], stops = new Set(stop);
    if (tokens !== "characters in words")
      return ngrams(runs.filter((token) => [...token].length >= least && !stops.has(token)), low, high, " ");
    const spaced = runs.map((run) => [" ", ...run, " "]); // a word shorter than n counts once
    return spaced.flatMap((word) => (low > word.length ? [word.join("")] : ngrams(word, low, high, "")));
  }
  words(t, row) { // the known words of a text, each with its score under each class
    const { values, length } = this.document.words, counts = new Map(), places = this.places.get(t);
    const text = row[this.features.get(t.feature).columns[0]], isAbsent = isMissing(text) || this.markers.has(text);
    const tokens = (isAbsent ? [] : this.tokens(String(text))).filter((token) => places.has(token));
    for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
    const value = { counts: (n) => n, presence: () => 1, log: Math.log1p }[values], all = [...counts.values()].map(value);
    const size = { l1: sum(all), l2: Math.sqrt(sum(all.map((v) => v * v))) }[length] ?? 1;
    return [...counts].map(([word, n]) =>
      ({ word, scores: finite(t.weights.map((w) => w[places.get(word)])).map((w) => (value(n) / size) * w) }));
  }
  joint(t, row) { // of each class: the present features, their deviations, squares, and ½ ln|2πΣ|
    const read = t.features.map((name) => this.number(name, row));
    const isNear = (x, i) => !t.limits || (t.limits[0][i] <= x && x <= t.limits[1][i]);
    const have = read.flatMap((x, i) => (!Number.isNaN(x) && isNear(x, i) ? [i] : []));
    const shapes = t.covariance.map((c) => invert(have.map((i) => have.map((j) => c[i][j]))));
    const each = this.classes.map((_, k) => {
      const [P, logDet] = shapes[shapes.length > 1 ? k : 0], gap = have.map((i) => read[i] - t.mean[k][i]);
      const squares = gap.map((g, i) => -0.5 * g * sum(P[i].map((p, j) => p * gap[j])));
      const half = 0.5 * (logDet + have.length * LOG_2PI), whole = sum(squares) - half;
      return { have, P, gap, squares, half, plain: Number.isNaN(whole) ? -Infinity : whole }; // squares may overflow
    });
    const top = greatest(each.map((p) => p.plain)), least = t.bound ? top - t.bound * have.length : -Infinity;
    return each.map((p) => ({ ...p, whole: Math.max(p.plain, least) }));
  }
  cell(name, cells, row) { // the number of the cell of a feature; NaN where it is missing or unseen
    const levels = this.terms.find((t) => t.kind === "levels" && t.feature === name);
    const x = levels ? this.level(levels, row) : this.number(name, row);
    const place = levels ? cells.indexOf(levels.levels[x]) : cells.filter((cut) => cut <= x).length;
    return Number.isNaN(x) || (levels && x < 0) ? NaN : place < 0 ? cells.length : place;
  }
  score(t, row) { // of each class; 0 for a missing value
    const { kind, feature } = t, zeros = this.classes.map(() => 0);
    if (kind === "constant") return t.scores;
    const [i, j] = kind === "pair" ? [this.cell(t.parent, t.parent_cells, row), this.cell(feature, t.cells, row)] : [];
    if (kind === "pair") return Number.isNaN(i + j) ? zeros : t.scores.map((s) => s[i][j]);
    if (kind === "joint_gaussian") return this.joint(t, row).map((p) => t.weight * p.whole);
    const x = kind === "text" ? this.words(t, row) : kind === "levels" ? this.level(t, row) : this.number(feature, row);
    return Number.isNaN(x) ? zeros : SCORES[kind](t, x);
  }
  logPosterior(row) {
    const terms = this.terms.map((t) => this.score(t, row)), c = this.calibration;
    const joint = this.intercept.map((b, k) => b + sum(terms.map((s) => s[k])));
    const claimed = normalise(greatest(joint) === -Infinity ? this.intercept : joint);
    if (!c) return claimed;
    const line = (s, k) => (this.slope ? this.slope * s : 0) + (c.bias?.[k] ?? 0) + this.lift[k];
    const bend = (_, k) => logSigmoid(claimed.length > 2 ? interpolate(logOdds(claimed, k), c.curves[k])
      : (k ? 1 : -1) * interpolate(logOdds(claimed, 1), c.curves[0]));
    const moved = normalise(claimed.map(c.curves ? bend : line)).map((s, k) => s + this.shift[k]);
    return normalise(greatest(moved) === -Infinity ? this.logPrior : moved);
  }
  predict(row) { // the most probable class, its probability, and all probabilities in the order of `classes`
    const probabilities = this.logPosterior(row).map(Math.exp), probability = greatest(probabilities);
    return { prediction: this.classes[probabilities.indexOf(probability)], probability, probabilities };
  }
  explain(row, pair = null) { // decibans for one class against another: by default the two most probable
    const post = this.logPosterior(row), order = post.map((_, k) => k).sort((a, b) => post[b] - post[a] || a - b);
    const [k, l] = pair ? pair.map((name) => this.classes.indexOf(name)) : order, c = this.calibration;
    if (k === l || !(k in post && l in post)) throw new RangeError("an explanation compares two classes of the model");
    const found = new Map([...this.features.keys()].map((name) => [name, 0])), words = [];
    const extras = new Map([["bias", this.bias[k] - this.bias[l]]]);
    const add = (to, name, value) => to.set(name, (to.get(name) ?? 0) + value);
    for (const t of this.terms) {
      if (t.kind === "joint_gaussian") {
        const each = this.joint(t, row), a = each[k], b = each[l], isShared = t.covariance.length === 1;
        const line = (i) => (sum(a.P[i].map((v, j) => v * (b.gap[j] - a.gap[j]))) * (a.gap[i] + b.gap[i])) / 2;
        const isPlain = a.whole === a.plain && b.whole === b.plain;
        const weight = t.weight * (isPlain ? 1 : (a.whole - b.whole) / (a.plain - b.plain));
        const piece = (i) => weight * (isShared ? line(i) : a.squares[i] - b.squares[i]);
        a.have.forEach((feature, i) => add(found, t.features[feature], piece(i)));
        if (!isShared) add(extras, "shape", weight * (b.half - a.half));
        continue;
      }
      const s = this.score(t, row);
      add(t.kind === "constant" ? extras : found, t.feature ?? t.name, s[k] - s[l]);
      if (t.kind === "text") words.push(...this.words(t, row).map(({ word, scores }) =>
        ({ column: t.feature, word, decibans: (scores[k] - scores[l]) * DECIBAN })));
    }
    const prior = (this.logPrior[k] - this.logPrior[l]) * DECIBAN, odds = (post[k] - post[l]) * DECIBAN;
    const claimed = DECIBAN * (sum([...found.values()]) + sum([...extras.values()])), ratio = (odds - prior) / claimed;
    const factor = !c?.curves ? this.slope : Number.isFinite(ratio) ? Math.min(Math.max(ratio, 0), 1) : 1;
    const scale = (x) => (factor ? factor * x : 0);
    const list = (map) => [...map].map(([name, value]) => ({ name, decibans: scale(value * DECIBAN) }));
    const evidence = list(found), others = list(extras).filter((x) => x.decibans !== 0);
    for (const each of words) each.decibans = scale(each.decibans);
    const added = prior + sum([...evidence, ...others].map((x) => x.decibans)), isPlain = !c || c.t !== undefined;
    const total = isPlain ? added : odds; // NaN where both classes are impossible
    if (!isPlain) others.push({ name: "calibration", decibans: total - added });
    return { for: this.classes[k], against: this.classes[l], prior, evidence, extras: others, words, total };
  }
}
