/* Every term explains itself: known words of the glossary (assets/glossary.json, inlined as `SpecViz.GLOSSARY`) get a
   dotted underline and a popover on hover, focus and tap. Only in the places that panels name (`bringsTerms`), and
   never in the text of a model or a visitor. What Gradio renders itself is marked as a whole, so that no text node of
   its own is split. */
// needs: dom
const glossary = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({
    sentences: [".sv-terms", ".gradio-container .prose:not(:has(.sv-player)) :is(p, li, td)"],
    labels: [".gradio-container [data-testid=block-info]", ".gradio-container .prose:not(:has(.sv-player)) th"],
  });
  const NEVER =
    "a, button, input, textarea, select, code, pre, mark, kbd, summary, svg, [contenteditable], [role=tooltip], " +
    ".svp-word, .svp-mono, .svp-tok, .svp-name, .svp-chip, .sv-mono, .sv-token, .sv-term, .svp-text";

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  let known = null;

  /** Written form in lower case → entry, and what finds them: the longest form first, whole words only. */
  function terms() {
    if (known) return known;
    const forms = new Map();
    const letters = new Map(); // p, q, u: only where nothing else stands
    for (const entry of S.GLOSSARY || [])
      for (const form of entry.written) {
        if (/^[a-z]$/i.test(form)) letters.set(form, entry);
        else forms.set(form.toLowerCase(), entry);
      }
    const listed = [...forms.keys()].sort((one, other) => other.length - one.length).map(escaped);
    const finds = listed.length
      ? new RegExp(`(?<![\\p{L}\\p{N}_-])(${listed.join("|")})(?:s|es)?(?![\\p{L}\\p{N}_-])`, "giu")
      : null;
    known = { forms, letters, finds };
    return known;
  }

  /** Pure: a text as parts [{text, entry?}]; each entry once, those in `seen` not at all. */
  function termParts(text, seen = new Set()) {
    const { forms, finds } = terms();
    const parts = [];
    let from = 0;
    for (const found of finds ? text.matchAll(finds) : []) {
      const entry = forms.get(found[1].toLowerCase());
      if (seen.has(entry)) continue;
      seen.add(entry);
      if (found.index > from) parts.push({ text: text.slice(from, found.index) });
      parts.push({ text: found[0], entry });
      from = found.index + found[0].length;
    }
    if (from < text.length || !parts.length) parts.push({ text: text.slice(from) });
    return parts;
  }

  /** Pure: the entries that a label or a head names. */
  function entriesOf(text) {
    const letter = terms().letters.get(text.trim());
    if (letter) return [letter];
    return termParts(text).flatMap((part) => (part.entry ? [part.entry] : []));
  }

  const explained = new WeakMap(); // element → its entries

  function term(part) {
    const element = h("dfn", { class: "sv-term", tabindex: "0" }, part.text);
    explained.set(element, [part.entry]);
    return element;
  }

  /** Sets the terms of one of these containers apart. */
  function decorate(container) {
    const walk = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(NEVER)) texts.push(walk.currentNode);
    const seen = new Set([...container.querySelectorAll(".sv-term")].flatMap((one) => explained.get(one) || []));
    for (const text of texts) {
      const parts = termParts(text.data, seen);
      if (parts.some((part) => part.entry))
        text.replaceWith(...parts.map((part) => (part.entry ? term(part) : document.createTextNode(part.text))));
    }
  }

  /** Marks a label or head as a whole; its text nodes stay as they are. */
  function mark(element) {
    const entries = element.closest(".svp-text") ? [] : entriesOf(element.textContent);
    explained.set(element, entries);
    element.classList.toggle("sv-term", entries.length > 0);
    if (entries.length && !element.hasAttribute("tabindex")) element.setAttribute("tabindex", "0");
    const letter = element.textContent.trim();
    if (entries.length && /^[a-z]$/i.test(letter)) S.set(element, "aria-label", `${letter}: ${entries[0].meaning}`);
  }

  const matching = (root, selector) => [...(root.matches(selector) ? [root] : []), ...root.querySelectorAll(selector)];

  function explain(root) {
    for (const container of matching(root, S.termPlaces.sentences.join()))
      if (!container.closest(NEVER)) decorate(container);
    for (const element of matching(root, S.termPlaces.labels.join())) mark(element);
  }

  let popover = null;
  let owner = null;

  function show(element) {
    const entries = explained.get(element);
    if (!entries || !entries.length || owner === element) return;
    hide();
    owner = element;
    popover = popover || h("div", { class: "sv-popover", id: "sv-popover", role: "tooltip", popover: "manual" });
    popover.replaceChildren(
      ...entries.map((entry) =>
        h(
          "p",
          {},
          h("b", {}, entry.term),
          `: ${entry.meaning}`,
          entry.others ? h("small", {}, `also called: ${entry.others}`) : null,
        ),
      ),
    );
    document.body.append(popover);
    if (popover.showPopover) popover.showPopover(); // above dialogs and a player that fills the screen
    place();
    element.setAttribute("aria-describedby", "sv-popover");
  }

  /** Above its term, or below where there is no room; gone with a term that was scrolled out of sight. */
  function place() {
    if (!owner) return;
    const { left, top, bottom } = owner.getBoundingClientRect();
    if (bottom < 0 || top > innerHeight) return hide();
    const { offsetWidth: wide, offsetHeight: high } = popover;
    const above = top - high - 6;
    popover.style.left = `${Math.max(8, Math.min(left, innerWidth - wide - 8))}px`;
    popover.style.top = `${above >= 8 ? above : Math.min(bottom + 6, innerHeight - high - 8)}px`;
  }

  function hide() {
    if (!owner) return;
    owner.removeAttribute("aria-describedby");
    owner = null;
    popover.remove();
  }

  const termAt = (event) => (event.target instanceof Element ? event.target.closest(".sv-term") : null);

  /** Once per page: decorates what is there and what comes, and listens. */
  function startGlossary() {
    if (S.glossaryStarted) return;
    S.glossaryStarted = true;
    const pick = (event) => {
      const at = termAt(event);
      if (at) show(at);
      else if (!(popover && popover.contains(event.target))) hide();
    };
    document.addEventListener("pointerover", (event) => (event.pointerType === "touch" ? null : pick(event)));
    document.addEventListener("focusin", pick);
    document.addEventListener("focusout", (event) => (termAt(event) === owner ? hide() : null));
    document.addEventListener("click", pick);
    addEventListener("scroll", place, { capture: true, passive: true });
    document.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || !owner) return;
        hide();
        event.preventDefault();
        event.stopPropagation();
      },
      true,
    );
    const roots = (records) => new Set(records.map((one) => one.target).filter((one) => one.isConnected));
    const observer = new MutationObserver((records) => {
      for (const target of roots(records)) {
        const element = target instanceof Element ? target : target.parentElement;
        if (!element || element.closest(".sv-popover")) continue;
        const container = element.closest(S.termPlaces.sentences.join());
        if (container && !container.closest(NEVER)) decorate(container);
        explain(element);
      }
      observer.takeRecords(); // its own changes
      if (owner && !owner.isConnected) hide();
    });
    explain(document.body);
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  }

  if (globalThis.document) {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", startGlossary);
    else startGlossary();
  }

  return { termParts, entriesOf };
})(SpecViz);
Object.assign(SpecViz, glossary);
