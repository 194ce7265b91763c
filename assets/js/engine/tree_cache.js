/* Which cached row is which: the text, and the rows of a tree on top of it; the names of specviz/lm/rows.py. The
   numbers themselves are the model's. Pure. */
// needs: nothing
const treeCache = (function () {
  "use strict";

  class TreeCache {
    constructor() {
      this.tokens = [];
      this.parents = [];
      this.positions = [];
      this.base = 0; // rows of the text; it moves in `keep` alone
    }

    /** Rows held, text and tree. */
    get length() {
      return this.tokens.length;
    }

    /** Take in new rows below these parents (null: each continues the row before) and give for each the rows that it
        sees, itself last. Throws where the text would outgrow the context.
        @param {number[]} tokens @param {number[] | null} parents @returns {number[][]} */
    add(tokens, parents, context) {
      const seen = [];
      for (let i = 0; i < tokens.length; i++) {
        const row = this.length;
        const parent = parents === null ? row - 1 : parents[i];
        if (parent < this.base - 1 || parent >= row)
          throw new Error(`row ${row} names parent ${parent}, but trees hang from row ${this.base - 1}.`);
        const path = [];
        for (let above = row; above >= this.base; above = above === row ? parent : this.parents[above])
          path.push(above);
        const position = this.base + path.length - 1;
        if (position >= context)
          throw new Error(
            `the text would reach ${position + 1} tokens, but the model's context holds ${context}; shorten the ` +
              "prompt or ask for fewer new tokens.",
          );
        this.tokens.push(tokens[i]);
        this.parents.push(parent);
        this.positions.push(position);
        seen.push([...Array(this.base).keys(), ...path.reverse()]);
      }
      return seen;
    }

    /** Make the path `rows` the continuation of the text and drop every other tree row.
        @param {number[]} rows @param {(from: number, to: number) => void} move moves a row's numbers */
    keep(rows, move) {
      let previous = this.base - 1;
      for (const row of rows) {
        if (row < this.base || this.parents[row] !== previous)
          throw new Error(`row ${row} continues row ${this.parents[row]}, not row ${previous}.`);
        previous = row;
      }
      const { base } = this;
      rows.forEach((row, offset) => {
        if (row !== base + offset) move(row, base + offset);
        this.tokens[base + offset] = this.tokens[row];
      });
      this.base += rows.length;
      this.tokens.length = this.base;
      this.parents = this.tokens.map((_, row) => row - 1);
      this.positions = this.tokens.map((_, row) => row);
    }
  }

  return { TreeCache };
})();
Object.assign(SpecViz, treeCache);
