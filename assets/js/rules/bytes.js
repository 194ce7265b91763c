/* Tokens as bytes and as something to look at. Pure.
   A token may end inside a UTF-8 character; a character belongs to the token that completes it. */
// needs: nothing
const bytes = (function () {
  "use strict";

  const reader = () => new TextDecoder("utf-8", { ignoreBOM: true });
  const whole = reader();
  const cache = new WeakMap();

  /** The exact bytes of a token, from the trace's vocabulary.
      @param {trace.Trace} trace */
  function tokenBytes(trace, token) {
    let known = cache.get(trace.vocab);
    if (!known) cache.set(trace.vocab, (known = new Map()));
    if (!known.has(token)) {
      const entry = trace.vocab[String(token)];
      known.set(token, entry ? Uint8Array.from(atob(entry.bytes), (letter) => letter.charCodeAt(0)) : new Uint8Array());
    }
    return known.get(token);
  }

  /** Bytes left over from before + a token's bytes → the text it completes, and what is left over now. */
  function complete(pending, bytes) {
    const all = new Uint8Array(pending.length + bytes.length);
    all.set(pending);
    all.set(bytes, pending.length);
    const text = reader().decode(all, { stream: true });
    let cut = all.length; // what a decoder waits with it does not tell; without those bytes it complains of nothing
    while (whole.decode(all.subarray(0, cut)) !== text) cut--;
    return { text, pending: all.slice(cut) };
  }

  /** The text each token of a list completes.
      @param {trace.Trace} trace */
  function pieces(trace, tokens, pending = new Uint8Array()) {
    const texts = tokens.map((token) => {
      const step = complete(pending, tokenBytes(trace, token));
      pending = step.pending;
      return step.text;
    });
    return { texts, pending };
  }

  const SIGNS = { " ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
  // controls, zero-width, line and paragraph separators, direction marks, byte order mark, lone surrogates
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;

  /** Text → [{text, sign}]: what a reader could not see is replaced by a sign. */
  function signs(text) {
    const parts = [];
    for (const char of text) {
      const sign = char in SIGNS || UNSEEN.test(char);
      const shown =
        SIGNS[char] || (sign ? `‹${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›` : char);
      const last = parts[parts.length - 1];
      if (last && last.sign === sign) last.text += shown;
      else parts.push({ text: shown, sign });
    }
    return parts;
  }

  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /** The character that begins at a place of the bytes, and how many it takes; null: none does. */
  function character(bytes, at) {
    for (let length = 1; length <= 4 && at + length <= bytes.length; length++) {
      try {
        return { text: strict.decode(bytes.subarray(at, at + length)), length };
      } catch {
        continue; // a piece of one, or no beginning
      }
    }
    return null;
  }

  /** A token that stands alone: its characters, and the bytes of what is only a piece of one, as ⟨F0·9F⟩. */
  function legible(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length;) {
      const found = character(bytes, at);
      text += found ? found.text : `⟨${bytes[at].toString(16).toUpperCase().padStart(2, "0")}⟩`;
      at += found ? found.length : 1;
    }
    return text.replaceAll("⟩⟨", "·");
  }

  /** One line for a token: ␣ and ⏎ for blanks, ⟨F0·9F⟩ for a piece of a character that what stands before does not
      complete. */
  function visible(text, bytes) {
    const broken = text === "" || text.includes("\ufffd");
    if (broken && bytes && bytes.length) text = legible(bytes);
    if (text === "") return "(empty)";
    return signs(text)
      .map((part) => part.text.replace(/␣{5,}/g, (run) => `␣×${run.length}`))
      .join("");
  }

  const HEARD = { "␣": "space", "⏎": "line break", "␍": "carriage return", "⇥": "tab", "⍽": "no-break space" };

  /** How a token, or a sentence with tokens, is said: of ␣M "space M", of ␣×8 "8 spaces". */
  function spoken(text) {
    const words = (run, sign, times) => {
      const count = times ? Number(times) : Array.from(run).length;
      return ` ${count > 1 ? `${count} ${HEARD[sign]}s` : HEARD[sign]} `;
    };
    const said = text.replace(/([␣⏎␍⇥⍽])(?:×(\d+)|\1*)/gu, words);
    return said.replace(/(^|[\u2068“]) +| +(?=$|[\u2069”,.])/g, "$1").replace(/ {2,}/g, " ");
  }

  /** How a token reads by itself (in lists, where nothing stands before it).
      @param {trace.Trace} trace */
  function label(trace, token, pending = new Uint8Array()) {
    const bytes = tokenBytes(trace, token);
    return visible(complete(pending, bytes).text, bytes);
  }

  /** At most `length` characters, cut with an ellipsis, never inside a character. */
  function short(text, length) {
    const chars = Array.from(text);
    return chars.length <= length ? text : chars.slice(0, length - 1).join("") + "…";
  }

  /** CRC-32 of a text's UTF-8, as 8 hex digits: enough to tell that a machine wrote another text. */
  function textHash(text) {
    let crc = ~0;
    for (const byte of new TextEncoder().encode(text)) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return (~crc >>> 0).toString(16).padStart(8, "0");
  }

  /** Bytes as base64 for addresses and lines: - and _ for + and /, no padding. */
  const base64url = (bytes) =>
    btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
      .replace(/\+/g, "-")
      .replace(/\//g, "_")
      .replace(/=+$/, "");

  return { tokenBytes, complete, pieces, signs, legible, visible, spoken, label, short, textHash, base64url };
})();
Object.assign(SpecViz, bytes);
