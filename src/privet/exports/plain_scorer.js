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
    const codes = MODEL.features.map((feature) => code(feature, record[feature.name]));
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

  // Truth values are the numbers 0 and 1, as they are in Python and in databases.
  function plain(value) {
    return typeof value === "boolean" ? Number(value) : value;
  }

  return { predict, predictProba, classes: MODEL.classes, features: MODEL.features.map((feature) => feature.name) };
})();
if (typeof module !== "undefined") module.exports = privetModel;
