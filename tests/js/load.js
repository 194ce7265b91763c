// Loads the player's pure scripts as the page does: in order, into one namespace.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..", "..");
const shipped = (name) => JSON.parse(fs.readFileSync(path.join(root, "assets", name), "utf-8"));
globalThis.SpecViz = { DECLARED: shipped("rules.json"), GLOSSARY: shipped("glossary.json") };
for (const name of [
  "declared.js",
  "bytes.js",
  "numbers.js",
  "state.js",
  "bounds.js",
  "rejudge.js",
  "sibling_rules.js",
  "path_rules.js",
  "rules.js",
  "words.js",
  "transport.js",
  "light.js",
  "tree.js",
  "distributions.js",
  "bars.js",
  "why.js",
  "lanes.js",
  "counters.js",
  "guess.js",
  "glossary.js",
  "card.js",
  "rejudging.js",
  "exhibits.js",
  "charts.js",
  "replay.js",
]) {
  // tree.js, transport.js and the like hold pure functions too; none of them touches a page while loading
  require(path.join(root, "assets", "js", name));
}
const golden = (name) => JSON.parse(fs.readFileSync(path.join(root, "tests", "golden", name), "utf-8"));
const zlib = require("node:zlib");
const traces = path.join(root, "assets", "traces");
/** Every recorded run: [file name, trace]. */
const recorded = () =>
  fs
    .readdirSync(traces)
    .filter((name) => name.endsWith(".json.gz"))
    .map((name) => [name, JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(traces, name))))]);
module.exports = {
  recorded,
  S: globalThis.SpecViz,
  sample: () => golden("trace-1.0-sample.json"),
  greedy: () => golden("trace-1.0-greedy.json"),
};
