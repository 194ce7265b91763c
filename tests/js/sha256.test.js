const test = require("node:test");
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { S } = require("./load.js");

test("checksums worked out by hand are those of the system, at every length around a block and inside a buffer", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 100003]) {
    const bytes = new Uint8Array(crypto.randomBytes(length + 3)).subarray(3);
    const wanted = crypto.createHash("sha256").update(bytes).digest("hex");
    assert.equal(S.sha256ByHand(bytes), wanted, `${length} bytes`);
  }
});

test("a page over plain http, which is given no checksums, has the same ones", async () => {
  const [given, bytes] = [globalThis.crypto, new TextEncoder().encode("abc")];
  const wanted = await S.sha256(bytes);
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  try {
    assert.equal(await S.sha256(bytes), wanted);
  } finally {
    Object.defineProperty(globalThis, "crypto", { value: given, configurable: true });
  }
  assert.match(wanted, /^ba7816bf/); // FIPS 180-4, the first example
});
