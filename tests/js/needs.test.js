// What a script reads of the others while it loads must come from those that its `// needs:` line names.
const test = require("node:test");
const assert = require("node:assert");
const { needs, read, twice } = require("./load.js");

const behind = (script) => new Set(needs[script].flatMap((name) => [name, ...behind(name)]));

test("a script reads while loading only what the scripts it needs have given", () => {
  for (const [script, names] of Object.entries(read)) {
    for (const [name, giver] of names) {
      const known = giver === script || behind(script).has(giver);
      assert.ok(known, `${script}.js reads ${name} of ${giver}.js while it loads: add it to its line "// needs: …"`);
    }
  }
});

test("a script needs only what it reads", () => {
  for (const [script, names] of Object.entries(read)) {
    const used = names.map(([, giver]) => giver);
    for (const need of needs[script]) assert.ok(used.includes(need), `${script}.js reads nothing of ${need}.js here`);
  }
});

test("no name is given by two scripts", () => {
  assert.deepStrictEqual(twice, []);
});
