// The compiled kernels of the browser's engine: products over any number of rows, and which binary a browser takes.
const test = require("node:test");
const assert = require("node:assert");
const { S, KERNELS } = require("./engine.js");

const [INPUTS, OUTPUTS] = [16, 8];
const upTo = (n) => [...Array(n).keys()];

/** Rows [n][16] times a weight [8][16] → [n][8]; `before` is what stands there and is added to, if anything. */
function product(binaries, rows, weight, before = null) {
  const arena = new S.Arena(binaries, 4096);
  const n = rows.length;
  const [x, lines, out] = [arena.take(n * INPUTS), arena.take(OUTPUTS * INPUTS), arena.take(n * OUTPUTS)];
  const behind = arena.take(2 * OUTPUTS);
  arena.view(x, n * INPUTS).set(rows.flat());
  arena.view(lines, OUTPUTS * INPUTS).set(weight.flat());
  if (before !== null) arena.view(out, n * OUTPUTS).fill(before);
  arena.kernels.multiply(x, n, INPUTS, lines, OUTPUTS, out, before !== null);
  assert.ok(
    arena.view(behind, 2 * OUTPUTS).every((value) => value === 0),
    "nothing is written behind the last row",
  );
  return upTo(n).map((row) => [...arena.view(out + 4 * row * OUTPUTS, OUTPUTS)]);
}

const waves = (n, pace) => upTo(n).map((row) => upTo(INPUTS).map((place) => Math.sin(pace * row + place)));

for (const [name, binaries] of Object.entries(KERNELS)) {
  test(`each row's product with each weight stands in its place, of one row to eleven (${name})`, () => {
    const weight = upTo(OUTPUTS).map((output) => upTo(INPUTS).map((place) => (place === output ? 10 : 0)));
    for (const n of upTo(12).slice(1)) {
      const rows = upTo(n).map((row) => upTo(INPUTS).map((place) => 100 * row + place));
      const due = rows.map((row) => row.slice(0, OUTPUTS).map((value) => 10 * value));
      assert.deepEqual(product(binaries, rows, weight), due);
      const added = due.map((row) => row.map((value) => value + 7));
      assert.deepEqual(product(binaries, rows, weight, 7), added);
    }
  });

  test(`a row's numbers are the same to the last bit whoever is beside it (${name})`, () => {
    const [rows, weight] = [waves(11, 7), waves(OUTPUTS, 3)];
    const alone = rows.map((row) => product(binaries, [row], weight)[0]);
    for (const n of upTo(12).slice(2)) assert.deepEqual(product(binaries, rows.slice(0, n), weight), alone.slice(0, n));
  });
}

test("a browser takes the first kernels that it understands, and plain JavaScript where it understands none", () => {
  const unknown = Uint8Array.of(0, 97, 115, 109, 2, 0, 0, 0); // of a version to come
  const [simd] = KERNELS.simd;
  assert.equal(S.compiledHere([unknown, simd]), simd);
  assert.equal(S.compiledHere([simd, unknown]), simd);
  assert.equal(S.compiledHere([unknown]), null);
  assert.ok(new S.Arena([unknown], 16).kernels instanceof S.PlainKernels);
});
