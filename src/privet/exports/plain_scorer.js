// Scores records by a model that privet wrote. It needs JavaScript and nothing else.
//
// predict(record), and for a classifier predictProba(record), take an object from names to values. A value that is null,
// undefined, NaN or not there is missing. In a browser the functions are in `privetModel`, in Node they are exported.
"use strict";
const privetModel = (() => {
  const MODEL = {};

  for (const feature of MODEL.features) {
    if (feature.categories) feature.places = new Map(feature.categories.map((value, place) => [plain(value), place]));
  }

  // The class with the largest probability, the first of equals; or a number for a regression.
  function predict(record) {
    if (MODEL.range) {
      const [low, high] = MODEL.range;
      return low + Math.min(Math.max(scores(record)[0], 0), 1) * (high - low);
    }
    const shares = predictProba(record);
    return MODEL.classes[shares.indexOf(Math.max(...shares))];
  }

  // The probability of each class, in the order of `classes`.
  function predictProba(record) {
    let total = scores(record);
    if (MODEL.link === "logistic") {
      const second = 1 / (1 + Math.exp(-total[0]));
      return [1 - second, second];
    }
    if (MODEL.link === "softmax") {
      const largest = Math.max(...total);
      total = total.map((score) => Math.exp(score - largest));
    } else if (MODEL.link === "lifted") {
      const least = Math.min(0, ...total);
      total = total.map((score) => score - least);
    }
    const whole = total.reduce((a, b) => a + b, 0);
    return total.map((score) => (whole ? score / whole : 1 / total.length));
  }

  // The sums that the answers are made of.
  function scores(record) {
    const codes = MODEL.features.map((feature) => code(feature, record[feature.column ?? feature.name]));
    let total = MODEL.start.slice();
    for (const table of MODEL.tables) {
      const cell = table.features.reduce((cell, feature) => cell * MODEL.features[feature].codes + codes[feature], 0);
      total = total.map((score, place) => score + table.values[cell][place]);
    }
    if (MODEL.bounds) total = total.map((score) => Math.min(Math.max(score, MODEL.bounds[0]), MODEL.bounds[1]));
    const { roots, feature, test, child, values } = MODEL.trees;
    const said = total.map(() => 0);
    for (const root of roots) {
      let node = root;
      while (feature[node] >= 0) node = child[node] + step(test[node], codes[feature[node]]);
      values[child[node]].forEach((value, place) => (said[place] += value));
    }
    return total.map((score, place) => score + said[place]);
  }

  // Which child a code leads to: by a cut, by a text with a digit for each code, or by the code itself.
  function step(test, here) {
    if (test === null) return here;
    return typeof test === "string" ? Number(test[here]) : Number(here > test);
  }

  function code(feature, value) {
    if (value === null || value === undefined || Number.isNaN(value)) return feature.missing;
    if (feature.as) {
      value = made(feature, value);
      if (value === null || feature.as !== "days") return value ?? feature.missing;
    }
    if (feature.words && typeof value === "string") return words(feature).get(value.trim().toLowerCase()) ?? feature.unknown;
    if (!feature.cuts) return feature.places.get(plain(value)) ?? feature.unknown;
    const number = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
    if (Number.isNaN(number)) return feature.missing;
    let low = 0;
    let high = feature.cuts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (feature.cuts[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function words(feature) {
    return new Map(Object.entries(feature.words));
  }

  // What a feature makes of a value: a bucket, a number of days, a month or a weekday; null if it cannot.
  function made(feature, value) {
    if (feature.as === "bucket") {
      const text = textOf(value);
      return text === null ? null : Number(hash(bytesOf(text)) % BigInt(feature.buckets));
    }
    const day = dayOf(value, feature.form);
    if (day === null || feature.as === "days") return day;
    if (day < -719162 || day > 2932896) return null; // the years 1 to 9999
    return feature.as === "weekday" ? (((day + 3) % 7) + 7) % 7 : new Date(day * 86400000).getUTCMonth();
  }

  // The number of days from 1970-01-01 to a date, which may be a text, a Date (its day in UTC) or that number.
  function dayOf(value, form) {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : Math.floor(value.getTime() / 86400000);
    if (typeof value === "number") return Number.isFinite(value) ? Math.floor(value) : null;
    if (typeof value !== "string") return null;
    const iso = "^(?<Y>[0-9]{4})(?<dash>-?)(?<m>[0-9]{2})\\k<dash>(?<d>[0-9]{2})(?<time>[T ].*)?$";
    const found = new RegExp(form ?? iso, "is").exec(value.trim())?.groups;
    if (!found || (found.time && !found.dash)) return null;
    const names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const named = found.B ?? found.b;
    const month = named ? names.indexOf(named.slice(0, 3).toLowerCase()) : Number(found.m ?? 1) - 1;
    const short = Number(found.y);
    const year = found.y ? short + (short < 69 ? 2000 : 1900) : Number(found.Y ?? 1900);
    const date = new Date(0), day = Number(found.d ?? 1);
    date.setUTCFullYear(year, month, day);
    return year >= 1 && date.getUTCMonth() === month && date.getUTCDate() === day ? date.getTime() / 86400000 : null;
  }

  // The text that a value is hashed by: the same for 5 and "5", and for fractions the one that Python writes.
  function textOf(value) {
    if (typeof value === "string") return value;
    if (typeof value === "boolean" || typeof value === "bigint") return String(BigInt(value));
    if (typeof value !== "number" || !Number.isFinite(value)) return null;
    if (Number.isInteger(value)) return String(BigInt(value));
    const [digits, power] = value.toExponential().split("e");
    return Number(power) < -4 ? `${digits}e-${power.slice(1).padStart(2, "0")}` : String(value);
  }

  // A text in UTF-8.
  function bytesOf(text) {
    const bytes = [];
    for (const letter of text) {
      const point = letter.codePointAt(0);
      const size = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
      bytes.push(size ? ((0xff00 >> (size + 1)) & 0xff) | (point >> (6 * size)) : point);
      for (let left = size - 1; left >= 0; left--) bytes.push(0x80 | ((point >> (6 * left)) & 0x3f));
    }
    return bytes;
  }

  // BLAKE2b (RFC 7693) with a digest of 8 bytes and no key; the digest as a number, its first byte leading.
  function hash(bytes) {
    const mask = (1n << 64n) - 1n;
    const initial = [
      0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
      0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
    ];
    const orders = [
      "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
      "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
    ];
    const turned = (value, by) => ((value >> by) | (value << (64n - by))) & mask;
    const state = initial.slice();
    state[0] ^= 0x01010008n;
    const blocks = Math.max(1, Math.ceil(bytes.length / 128));
    for (let block = 0; block < blocks; block++) {
      const words = [];
      for (let word = 0; word < 16; word++) {
        let value = 0n;
        for (let byte = 7; byte >= 0; byte--) value = (value << 8n) | BigInt(bytes[block * 128 + word * 8 + byte] ?? 0);
        words.push(value);
      }
      const v = [...state, ...initial];
      v[12] ^= BigInt(Math.min(bytes.length, (block + 1) * 128));
      if (block === blocks - 1) v[14] ^= mask;
      const mix = (a, b, c, d, x, y) => {
        v[a] = (v[a] + v[b] + x) & mask;
        v[d] = turned(v[d] ^ v[a], 32n);
        v[c] = (v[c] + v[d]) & mask;
        v[b] = turned(v[b] ^ v[c], 24n);
        v[a] = (v[a] + v[b] + y) & mask;
        v[d] = turned(v[d] ^ v[a], 16n);
        v[c] = (v[c] + v[d]) & mask;
        v[b] = turned(v[b] ^ v[c], 63n);
      };
      for (let round = 0; round < 12; round++) {
        const order = [...orders[round % 10]].map((digit) => words[parseInt(digit, 16)]);
        for (let k = 0; k < 8; k++) {
          const turn = k < 4 ? 0 : 1; // columns, then diagonals
          const at = (row) => 4 * row + ((k + turn * row) % 4);
          mix(at(0), at(1), at(2), at(3), order[2 * k], order[2 * k + 1]);
        }
      }
      for (let word = 0; word < 8; word++) state[word] ^= v[word] ^ v[word + 8];
    }
    let digest = 0n;
    for (let byte = 0n; byte < 8n; byte++) digest = (digest << 8n) | ((state[0] >> (8n * byte)) & 0xffn);
    return digest;
  }

  // Truth values are the numbers 0 and 1, as they are in Python and in databases.
  function plain(value) {
    return typeof value === "boolean" ? Number(value) : value;
  }

  return { predict, predictProba, classes: MODEL.classes, features: MODEL.features.map((feature) => feature.name) };
})();
if (typeof module !== "undefined") module.exports = privetModel;
