// Loads the player's scripts as the page does: each after those it needs, into one namespace.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..", "..");
const shipped = (name) => JSON.parse(fs.readFileSync(path.join(root, "assets", name), "utf-8"));
globalThis.SpecViz = {
  DECLARED: shipped("rules.json"),
  GLOSSARY: shipped("glossary.json"),
  WRITTEN: shipped("written_rules.json"),
};
const folder = path.join(root, "assets", "js");
const used = {}; // by script: the names that it uses, its own and those of others
const givers = {}; // by name: the script that gives it
const twice = []; // names that two scripts give: only one of them would be found
let current = null;
const S = globalThis.SpecViz;
globalThis.SpecViz = new Proxy(S, {
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

/** What a script's text takes from the namespace: `S.name`, `const { name } = S`. */
function namesIn(text) {
  const taken = [...text.matchAll(/\{([\w\s,]+)\} = S;/g)].flatMap((found) => found[1].match(/\w+/g));
  return new Set([...taken, ...[...text.matchAll(/\bS\.(\w+)/g)].map((found) => found[1])]);
}

/** A script after those that its `// needs:` line names; none of them touches a page while loading. */
function load(script) {
  if (needs[script]) return;
  const text = fs.readFileSync(files[script], "utf-8");
  const lines = [...text.matchAll(/^\/\/ needs: (.+)$/gm)].map((line) => line[1]);
  needs[script] = lines
    .join()
    .split(/\W+/)
    .filter((name) => name && name !== "nothing");
  used[script] = namesIn(text.replace(/\/\*[^]*?\*\/|(?<!:)\/\/.*/g, ""));
  needs[script].forEach(load);
  current = script;
  require(files[script]);
  current = null;
}
Object.keys(files).sort().forEach(load);

const golden = (name) => S.readTrace(fs.readFileSync(path.join(root, "tests", "golden", name), "utf-8"));
const zlib = require("node:zlib");
const traces = path.join(root, "assets", "traces");
/** Every recorded run: [file name, trace]. */
const recorded = () =>
  fs
    .readdirSync(traces)
    .filter((name) => name.endsWith(".json.gz"))
    .map((name) => [name, S.readTrace(zlib.gunzipSync(fs.readFileSync(path.join(traces, name))).toString("utf-8"))]);
module.exports = {
  recorded,
  S,
  needs,
  used,
  givers,
  files,
  twice,
  sample: () => golden("trace-1.0-sample.json"),
  greedy: () => golden("trace-1.0-greedy.json"),
};
