/* QR codes (ISO/IEC 18004), written here because a page without a network can load no library: byte mode, level M,
   versions 1 to 40. Pure but for `qrPicture`; held against an independent encoder by tests. */
// needs: dom
const qr = (function (S) {
  "use strict";

  /** Of level M by version: error-correction bytes of a block, and how many blocks. ISO/IEC 18004, table 9. */
  const ECC = [
    10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  ];
  const BLOCKS = [
    1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31, 33,
    35, 37, 38, 40, 43, 45, 47, 49,
  ];
  const MASKS = [
    (x, y) => (x + y) % 2 === 0,
    (x, y) => y % 2 === 0,
    (x) => x % 3 === 0,
    (x, y) => (x + y) % 3 === 0,
    (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
    (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
    (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
    (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
  ];
  const QUIET = 4; // modules of ground around a code

  /** Modules left for data and error correction. */
  function rawBits(version) {
    const size = version * 4 + 17;
    const marks = version === 1 ? 0 : Math.floor(version / 7) + 2;
    const patterns = marks ? 25 * (marks * marks - 3) - 10 * (marks - 2) : 0; // alignment, less what lies on the timing
    return size * size - 192 - 31 - 2 * (size - 16) - patterns - (version >= 7 ? 36 : 0);
  }

  const dataBytes = (version) => Math.floor(rawBits(version) / 8) - ECC[version - 1] * BLOCKS[version - 1];

  /** Product in the field of 256 elements over x⁸ + x⁴ + x³ + x² + 1. */
  function times(a, b) {
    let product = 0;
    for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> bit) & 1) * a);
    return product;
  }

  /** Reed–Solomon: the remainder of the data by the generator of this degree. */
  function remainder(data, degree) {
    const divisor = Array(degree).fill(0);
    divisor[degree - 1] = 1;
    for (let root = 1, step = 0; step < degree; step++, root = times(root, 2))
      for (let at = 0; at < degree; at++) divisor[at] = times(divisor[at], root) ^ (divisor[at + 1] || 0);
    const left = Array(degree).fill(0);
    for (const byte of data) {
      const factor = byte ^ left.shift();
      left.push(0);
      divisor.forEach((one, at) => (left[at] ^= times(one, factor)));
    }
    return left;
  }

  /** The bytes of a code: mode, length, text, padding, then blocks with their error correction, interleaved. */
  function codewords(text, version) {
    const bits = [];
    const put = (value, length) => {
      for (let at = length - 1; at >= 0; at--) bits.push((value >>> at) & 1);
    };
    put(4, 4);
    put(text.length, version < 10 ? 8 : 16);
    for (const byte of text) put(byte, 8);
    const room = dataBytes(version) * 8;
    put(0, Math.min(4, room - bits.length));
    put(0, (8 - (bits.length % 8)) % 8);
    const data = [];
    for (let at = 0; at < bits.length; at += 8) data.push(parseInt(bits.slice(at, at + 8).join(""), 2));
    for (let pad = 0xec; data.length * 8 < room; pad ^= 0xec ^ 0x11) data.push(pad);

    const count = BLOCKS[version - 1];
    const total = Math.floor(rawBits(version) / 8);
    const short = Math.floor(total / count) - ECC[version - 1];
    const longer = count - (total % count); // blocks from here on hold a byte more
    const blocks = [];
    for (let block = 0, at = 0; block < count; block++) {
      const length = short + (block < longer ? 0 : 1);
      const own = data.slice(at, (at += length));
      blocks.push({ own, ecc: remainder(own, ECC[version - 1]) });
    }
    const across = (lists) => lists[lists.length - 1].flatMap((_, at) => lists.map((list) => list[at]));
    const both = [...across(blocks.map((one) => one.own)), ...across(blocks.map((one) => one.ecc))];
    return both.filter((byte) => byte !== undefined);
  }

  /** The centres of the alignment patterns, along one side. */
  function alignment(version) {
    if (version === 1) return [];
    const count = Math.floor(version / 7) + 2;
    const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
    const rest = Array.from({ length: count - 1 }, (_, at) => version * 4 + 10 - at * step);
    return [6, ...rest.reverse()];
  }

  /** A code without a remainder of the BCH code with this generator. */
  function withCheck(value, generator, bits) {
    let left = value;
    for (let at = 0; at < bits; at++) left = (left << 1) ^ ((left >>> (bits - 1)) * generator);
    return (value << bits) | left;
  }

  /** Everything but the data: patterns, format and version. `fixed` says which modules are taken. */
  function frame(version, mask) {
    const size = version * 4 + 17;
    const dark = Array.from({ length: size }, () => Array(size).fill(false));
    const fixed = Array.from({ length: size }, () => Array(size).fill(false));
    const set = (x, y, on) => {
      if (x < 0 || y < 0 || x >= size || y >= size) return;
      dark[y][x] = !!on;
      fixed[y][x] = true;
    };
    const square = (cx, cy, reach, rings) => {
      for (let dy = -reach; dy <= reach; dy++)
        for (let dx = -reach; dx <= reach; dx++) set(cx + dx, cy + dy, rings[Math.max(Math.abs(dx), Math.abs(dy))]);
    };
    for (let at = 0; at < size; at++) {
      set(6, at, at % 2 === 0);
      set(at, 6, at % 2 === 0);
    }
    for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, [1, 1, 0, 1, 0]); // prettier-ignore
    const centres = alignment(version);
    const last = centres.length - 1;
    centres.forEach((x, row) =>
      centres.forEach((y, column) => {
        const isFinder = (!row && !column) || (!row && column === last) || (row === last && !column);
        if (!isFinder) square(x, y, 2, [1, 0, 1]);
      }),
    );
    const format = withCheck(mask, 0x537, 10) ^ 0x5412; // level M is 00
    for (let at = 0; at < 15; at++) {
      const on = (format >>> at) & 1;
      if (at < 6) set(8, at, on);
      else if (at < 8) set(8, at + 1, on);
      else if (at === 8) set(7, 8, on);
      else set(14 - at, 8, on);
      if (at < 8) set(size - 1 - at, 8, on);
      else set(8, size - 15 + at, on);
    }
    set(8, size - 8, true);
    const number = withCheck(version, 0x1f25, 12);
    for (let at = 0; version >= 7 && at < 18; at++) {
      const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)];
      set(far, near, (number >>> at) & 1);
      set(near, far, (number >>> at) & 1);
    }
    return { size, dark, fixed };
  }

  /** One code with this mask: rows of true for dark. */
  function masked(bytes, version, mask) {
    const { size, dark, fixed } = frame(version, mask);
    let bit = 0;
    for (let right = size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < size; step++)
        for (const x of [right, right - 1]) {
          const y = (right + 1) & 2 ? step : size - 1 - step;
          if (fixed[y][x]) continue;
          const on = bit < bytes.length * 8 && (bytes[bit >>> 3] >>> (7 - (bit & 7))) & 1;
          dark[y][x] = !!on !== MASKS[mask](x, y);
          bit += 1;
        }
    }
    return dark;
  }

  /** How hard a code is to read: long runs, blocks, what looks like a finder, and too much of one colour. */
  function penalty(rows) {
    const size = rows.length;
    const lines = [...rows, ...rows.map((_, x) => rows.map((row) => row[x]))].map((line) =>
      line.map((on) => (on ? "1" : "0")).join(""),
    );
    let score = 0;
    for (const line of lines) {
      for (const run of line.match(/0{5,}|1{5,}/g) || []) score += run.length - 2;
      score += 40 * (line.match(/(?=00001011101|10111010000)/g) || []).length;
    }
    for (let y = 0; y + 1 < size; y++)
      for (let x = 0; x + 1 < size; x++)
        if (rows[y][x] === rows[y][x + 1] && rows[y][x] === rows[y + 1][x] && rows[y][x] === rows[y + 1][x + 1])
          score += 3;
    const share = rows.flat().filter(Boolean).length / (size * size);
    return score + 10 * Math.floor(Math.abs(share - 0.5) * 20);
  }

  /** A text as a QR code: rows of true for dark; null where it is too long. `mask`: the best where none is given. */
  function qrCode(text, mask = null) {
    const bytes = [...new TextEncoder().encode(text)];
    const fits = (version) => bytes.length + (version < 10 ? 2 : 3) <= dataBytes(version);
    const version = ECC.map((_, at) => at + 1).find(fits);
    if (!version) return null;
    const words = codewords(bytes, version);
    const codes = (mask === null ? MASKS.map((_, at) => at) : [mask]).map((one) => masked(words, version, one));
    return codes.reduce((best, code) => (penalty(code) < penalty(best) ? code : best));
  }

  /** The code as a picture, always dark on light: cameras want it so. */
  function qrPicture(text) {
    const code = qrCode(text);
    if (!code) return null;
    const side = code.length + 2 * QUIET;
    const path = code
      .flatMap((row, y) => row.map((on, x) => (on ? `M${x + QUIET},${y + QUIET}h1v1h-1z` : "")))
      .join("");
    return S.svg(
      "svg",
      { class: "svp-qr", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "QR code of the link" },
      S.svg("rect", { width: side, height: side, fill: "white" }),
      S.svg("path", { d: path, fill: "black", "shape-rendering": "crispEdges" }),
    );
  }

  return { qrCode, qrPicture };
})(SpecViz);
Object.assign(SpecViz, qr);
