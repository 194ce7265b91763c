/* Text to token ids and back from a shipped tokenizer.json (byte-level BPE), and every token's exact bytes; equal to
   specviz/lm/text.py. Pure. */
// needs: nothing
const tokenizer = (function () {
  "use strict";

  /** Byte → its character in byte-level BPE's alphabet (Radford et al. 2019): printable Latin-1 as itself, other bytes
      as U+0100 on. */
  function alphabet() {
    const letters = [];
    let next = 256;
    for (let byte = 0; byte < 256; byte++) {
      const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
      letters.push(String.fromCharCode(isPrintable ? byte : next++));
    }
    return letters;
  }

  class Tokenizer {
    /** @param {any} document the parsed tokenizer.json; throws where it is of another kind */
    constructor(document, name) {
      const [split, level] = document.pre_tokenizer?.pretokenizers ?? [];
      const isKnown = document.model?.type === "BPE" && split?.type === "Split" && level?.type === "ByteLevel";
      if (!isKnown || document.normalizer)
        throw new Error(`the tokenizer of ${name} is no byte-level BPE as the bundled models have it.`);
      this.name = name;
      this.letters = alphabet();
      /** @type {Map<string, number>} */
      this.ids = new Map(Object.entries(document.model.vocab));
      this.ranks = new Map(document.model.merges.map((pair, rank) => [pair.join(" "), rank]));
      this.words = new RegExp(split.pattern.Regex.replaceAll("\\s", "\\p{White_Space}"), "gu"); // as Oniguruma reads \s
      this.added = new Map(document.added_tokens.map((token) => [token.content, token.id]));
      for (const [content, id] of this.added) this.ids.set(content, id);
      this.specialIds = document.added_tokens.filter((token) => token.special).map((token) => token.id);
      this.before = document.post_processor.single.flatMap((part) =>
        part.SpecialToken ? [this.added.get(part.SpecialToken.id)] : [],
      );
      this.size = 1 + Math.max(...this.ids.values());
      this.byteOf = new Map(this.letters.map((letter, byte) => [letter, byte]));
      this.strings = new Map([...this.ids].map(([string, id]) => [id, string]));
      this.known = new Map();
    }

    /** Ids of a text, behind the special tokens that the tokenizer itself adds. */
    encode(text) {
      const ids = [...this.before];
      let rest = text;
      while (rest) {
        const [at, content] = this.nextAdded(rest);
        for (const [word] of rest.slice(0, at).matchAll(this.words)) ids.push(...this.word(word));
        if (content) ids.push(this.added.get(content));
        rest = rest.slice(at + content.length);
      }
      return ids;
    }

    /** Where the next added token stands written in a text; its end and "" where none does.
        @returns {[number, string]} */
    nextAdded(text) {
      let [first, content] = [text.length, ""];
      for (const one of this.added.keys()) {
        const at = text.indexOf(one);
        if (at >= 0 && at < first) [first, content] = [at, one];
      }
      return [first, content];
    }

    /** Ids of one word: the pair that was merged first in training is merged first, of equal ones the leftmost. */
    word(word) {
      if (this.known.has(word)) return this.known.get(word);
      const parts = Array.from(new TextEncoder().encode(word), (byte) => this.letters[byte]);
      for (;;) {
        let [least, place] = [Infinity, -1];
        for (let at = 0; at + 1 < parts.length; at++) {
          const rank = this.ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
          if (rank < least) [least, place] = [rank, at];
        }
        if (place < 0) break;
        parts.splice(place, 2, parts[place] + parts[place + 1]);
      }
      const ids = parts.map((part) => this.ids.get(part));
      this.known.set(word, ids);
      return ids;
    }

    /** A token's exact bytes; a special token gives its literal, a padding row `<unused id>`. */
    tokenBytes(token) {
      const string = this.strings.get(token);
      if (string === undefined) return new TextEncoder().encode(`<unused ${token}>`);
      if (this.added.has(string)) return new TextEncoder().encode(string);
      return Uint8Array.from(string, (letter) => this.byteOf.get(letter));
    }
  }

  return { Tokenizer };
})();
Object.assign(SpecViz, tokenizer);
