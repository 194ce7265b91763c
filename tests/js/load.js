// Loads the player's pure scripts as the page does: in order, into one namespace.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..", "..");
globalThis.SpecViz = { DECLARED: JSON.parse(fs.readFileSync(path.join(root, "assets", "rules.json"), "utf-8")) };
for (const name of [
  "declared.js",
  "bytes.js",
  "numbers.js",
  "state.js",
  "address.js",
  "qr.js",
  "bounds.js",
  "rejudge.js",
  "sibling_rules.js",
  "path_rules.js",
  "rules.js",
  "words.js",
  "transport.js",
  "light.js",
  "tree.js",
  "bars.js",
  "lanes.js",
  "card.js",
  "rejudging.js",
  "exhibits.js",
  "exports.js",
  "charts.js",
  "replay.js",
]) {
  // tree.js, transport.js and the like hold pure functions too; none of them touches a page while loading
  require(path.join(root, "assets", "js", name));
}
const golden = (name) => JSON.parse(fs.readFileSync(path.join(root, "tests", "golden", name), "utf-8"));
module.exports = {
  S: globalThis.SpecViz,
  sample: () => golden("trace-1.0-sample.json"),
  greedy: () => golden("trace-1.0-greedy.json"),
};
