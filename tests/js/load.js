// Loads the player's scripts as the page does: each after those it needs, into one namespace.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..", "..");
const shipped = (name) => JSON.parse(fs.readFileSync(path.join(root, "assets", name), "utf-8"));
globalThis.SpecViz = { DECLARED: shipped("rules.json"), GLOSSARY: shipped("glossary.json") };
const folder = path.join(root, "assets", "js");
const read = {}; // by script: what it read while it loaded, as [name, the script that gave it]
const givers = {};
const twice = []; // names that two scripts give: only one of them would be found
let current = null;
const S = globalThis.SpecViz;
globalThis.SpecViz = new Proxy(S, {
  get(names, name) {
    if (current && typeof name === "string" && name !== "DECLARED") read[current].push([name, givers[name]]);
    return names[name];
  },
  set(names, name, value) {
    if (current && name in givers) twice.push(`${name}: ${givers[name]}.js and ${current}.js`);
    givers[name] ??= current;
    names[name] = value;
    return true;
  },
});
const needs = {};
const files = {};
for (const room of fs.readdirSync(folder, { withFileTypes: true }))
  for (const file of room.isDirectory() ? fs.readdirSync(path.join(folder, room.name)) : [])
    if (file.endsWith(".js")) files[path.basename(file, ".js")] = path.join(folder, room.name, file);

/** A script after those that its `// needs:` line names; none of them touches a page while loading. */
function load(script) {
  if (needs[script]) return;
  const line = /^\/\/ needs: (.+)$/m.exec(fs.readFileSync(files[script], "utf-8"));
  needs[script] = (line ? line[1] : "").split(/\W+/).filter((name) => name && name !== "nothing");
  needs[script].forEach(load);
  current = script;
  read[script] = [];
  require(files[script]);
  current = null;
}
Object.keys(files).sort().forEach(load);

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
  S,
  needs,
  read,
  twice,
  sample: () => golden("trace-1.0-sample.json"),
  greedy: () => golden("trace-1.0-greedy.json"),
};
