/* Small helpers to build the page from data. Text goes in as text nodes only. */
// needs: bytes
const dom = (function (S) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "text") node.textContent = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** @type {<K extends keyof HTMLElementTagNameMap>(tag: K, attributes?: object, ...children: any[]) =>
      HTMLElementTagNameMap[K]} */
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  /** @type {<K extends keyof SVGElementTagNameMap>(tag: K, attributes?: object, ...children: any[]) =>
      SVGElementTagNameMap[K]} */
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /** The head of a table: its columns' names, or what stands for one. */
  const columnHeads = (names) =>
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        names.map((name) => h("th", { scope: "col" }, name)),
      ),
    );

  /** A row of a table, under its name. */
  const tableRow = (name, cells, attributes = {}) =>
    h(
      "tr",
      attributes,
      h("th", { scope: "row" }, name),
      cells.map((cell) => h("td", {}, cell)),
    );

  /** Hands on where a pointer presses an element and where it is dragged from there.
      @type {(element: HTMLElement, to: (event: PointerEvent) => void) => void} */
  function onDrag(element, to) {
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      to(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (element.hasPointerCapture(event.pointerId)) to(event);
    });
  }

  /** What an event happened in, by its selector.
      @type {(event: Event, selector: string) => HTMLElement | null} */
  const pressed = (event, selector) => /** @type {Element} */ (event.target).closest(selector);

  /** Change an attribute only if it differs: transitions and screen readers notice writes. */
  function set(node, name, value) {
    const text = String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }

  function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  /** A token's text with signs for what one cannot see, marked up so that they can be faint. */
  function tokenText(text, { spaces = true, breaks = true } = {}) {
    const parts = [];
    for (const chunk of text.split(/(\n| +)/)) {
      if (chunk === "") continue;
      if (chunk === "\n") parts.push(h("span", { class: "svp-sign", text: "⏎" }), breaks ? "\n" : "");
      else if (chunk[0] === " ")
        parts.push(spaces ? h("span", { class: "svp-sign", text: "␣".repeat(chunk.length) }) : chunk);
      else
        for (const part of S.signs(chunk))
          parts.push(part.sign ? h("span", { class: "svp-sign", text: part.text }) : part.text);
    }
    return parts;
  }

  /** A sentence whose tokens (between U+2068 and U+2069) are set apart. */
  const sentence = (text) =>
    text
      .split(/\u2068([^\u2069]*)\u2069/)
      .map((part, place) => (place % 2 ? h("span", { class: "svp-word", text: part }) : part));

  /** Where words of the glossary are explained, as selectors: in sentences of our own, each term once, and labels and
      heads, marked as a whole. Whoever draws such a place brings it. */
  const termPlaces = { sentences: [], labels: [] };
  function bringsTerms({ sentences = [], labels = [] }) {
    termPlaces.sentences.push(...sentences);
    termPlaces.labels.push(...labels);
  }

  /** Puts a text on the clipboard; whether that worked. Over plain http, as a class is served from a teacher's laptop,
      a page is given no clipboard, but what is selected is copied all the same.
      @param {string} text */
  async function copyText(text) {
    if (navigator.clipboard)
      return navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      );
    const around = [...document.querySelectorAll("dialog[open]")].pop() || document.body; // else it gets no focus
    const [field, before] = [h("textarea", { readonly: true }), document.activeElement];
    Object.assign(field.style, { position: "fixed", opacity: "0", visibility: "visible" }); // a presentation hides all
    field.value = text;
    around.append(field);
    field.focus({ preventScroll: true });
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    return done;
  }

  const SHAPES = {
    root: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0M-2,0a2,2 0 1,0 4,0a2,2 0 1,0 -4,0",
    drafted: "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0",
    accepted: "M-7,0a7,7 0 1,0 14,0a7,7 0 1,0 -14,0",
    rejected: "M-5.5,-5.5L5.5,5.5M5.5,-5.5L-5.5,5.5",
    unreached: "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0",
    behind: "M-6,-3H6M-6,3H6",
    correction: "M-6,-6H6V6H-6Z",
    bonus: "M0,-8.5L8.5,0L0,8.5L-8.5,0Z",
    target: "M0,-7.5L7,5H-7Z",
    forced: "M0,-7.5L7,5H-7Z",
  };

  /** A fate's shape as a little picture beside words. */
  const glyph = (fate) =>
    svg(
      "svg",
      { class: "svp-glyph", viewBox: "-10 -10 20 20", "aria-hidden": "true" },
      svg("path", { d: SHAPES[fate], class: `svp-mark is-${fate}` }),
    );

  /** Texts by name, where the browser allows it: in a private window nothing is remembered.
      @param {() => Storage} store */
  const remembered = (store) => ({
    get(name, otherwise) {
      try {
        return store().getItem(`specviz.${name}`) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(name, value) {
      try {
        store().setItem(`specviz.${name}`, value);
      } catch {
        /* not allowed */
      }
    },
  });
  /** What the visitor prefers. */
  const memory = remembered(() => localStorage);
  /** What this tab of the browser was in the middle of. */
  const visit = remembered(() => sessionStorage);

  return {
    h,
    svg,
    pressed,
    columnHeads,
    tableRow,
    onDrag,
    set,
    setText,
    copyText,
    tokenText,
    sentence,
    termPlaces,
    bringsTerms,
    SHAPES,
    glyph,
    memory,
    visit,
  };
})(SpecViz);
Object.assign(SpecViz, dom);
