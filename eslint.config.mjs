// What the player's scripts are held to; `npm run check` runs it together with prettier.
import js from "@eslint/js";
import globals from "globals";

// p, q and u are the field's letters; x and y places; S the namespace and h the maker of elements
const LETTERS = ["S", "h", "p", "q", "u", "x", "y"];

export default [
  js.configs.recommended,
  {
    files: ["assets/js/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "script", globals: { ...globals.browser, SpecViz: "readonly" } },
    rules: {
      strict: ["error", "function"],
      "max-lines-per-function": ["error", { max: 80, IIFEs: false }], // a script stands in one function
    },
  },
  {
    files: ["tests/js/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "commonjs", globals: globals.node },
    rules: { "no-implicit-globals": "off" },
  },
  {
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-implicit-globals": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "max-lines": ["error", { max: 400 }],
      "id-length": ["error", { min: 2, exceptions: [...LETTERS, "a", "b", "n", "t", "_"], properties: "never" }],
    },
  },
  {
    files: ["assets/js/engine/*.js"], // arithmetic: i and k are indices, the others coefficients
    rules: { "id-length": ["error", { min: 2, exceptions: [...LETTERS, ..."abcdfiknostw_"], properties: "never" }] },
  },
  {
    files: ["assets/js/engine/*_policies.js"], // a base class names what its heirs are asked
    rules: { "no-unused-vars": ["error", { args: "none" }] },
  },
  {
    files: ["assets/js/panels/tree.js"],
    rules: { "id-length": ["error", { min: 2, exceptions: LETTERS, properties: "never" }] },
  },
];
