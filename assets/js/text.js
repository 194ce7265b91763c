/* The text strip: the prompt, quiet, then every token with its origin; refused ones stay where they died. */
globalThis.SpecViz = globalThis.SpecViz || {};
(function (S) {
  "use strict";

  const { h } = S;
  const LINES = 3;
  const LETTERS = { accepted: "A", rejected: "R", correction: "C", bonus: "B", target: "T", forced: "F" };

  /** The prompt's last lines, and whether there is more. */
  function tail(text) {
    const lines = text.split("\n");
    const short = lines.slice(-LINES).join("\n").slice(-400);
    return { short, more: short.length < text.length };
  }

  function describe(token) {
    const name = S.visible(token.text, token.bytes);
    return `${name} · ${token.mark === "accepted" ? "accepted draft" : S.FATES[token.mark]} · round ${token.round + 1}`;
  }

  function tokenSpan(token) {
    const text = token.text === "" ? [h("span", { class: "svp-sign", text: S.visible("", token.bytes) })]
      : S.tokenText(token.text, { spaces: token.current || token.mark === "rejected", breaks: token.mark !== "rejected" });
    const settled = token.text === "" && !token.current; // its bytes show in the character that a later token completes
    return h("span", {
      class: `svp-tok is-${token.mark}${token.cut ? " is-cut" : ""}${token.current && !token.text.includes("\n") ? " is-whole" : ""}`, "data-round": token.round, "data-node": token.node,
      "data-letter": token.current ? LETTERS[token.mark] : null, title: describe(token),
    }, settled && token.mark !== "rejected" ? [] : text);
  }

  function textPanel(box, act) {
    let open = false;
    let key = "";
    const prompt = h("span", { class: "svp-prompt" });
    const more = h("button", { type: "button", class: "svp-link", onclick: () => { open = !open; key = ""; act.draw(); } });
    const made = h("span", { class: "svp-made" });
    const page = h("div", { class: "svp-page", tabindex: "0", role: "region", "aria-label": "the text so far" }, prompt, made);
    box.append(more, page);
    made.addEventListener("click", (event) => {
      const token = event.target.closest(".svp-tok");
      if (token) act.visit(Number(token.dataset.round), token.dataset.node === S.END ? S.END : Number(token.dataset.node));
    });

    return function draw(now) {
      const text = now.trace.started.prompt_text;
      if (key !== text) {
        const cut = tail(text);
        prompt.replaceChildren(open ? text : (cut.more ? "…" : "") + cut.short);
        more.hidden = !cut.more;
        S.setText(more, open ? "fold the prompt" : "show the whole prompt");
        key = text;
      }
      const rounds = new Map();
      for (const token of S.tokens(now.trace, now.cursor)) {
        if (!rounds.has(token.round)) rounds.set(token.round, []);
        rounds.get(token.round).push(token);
      }
      const spans = [...rounds].map(([round, tokens]) => h("span", {
        class: `svp-round${round === now.cursor.round ? " is-current" : ""}`,
      }, tokens.map((token) => {
        const span = tokenSpan(token);
        if (token.current && String(token.node) === String(now.selected)) span.classList.add("is-selected");
        return span;
      })));
      if (!rounds.has(now.cursor.round)) spans.push(h("span", { class: "svp-round is-current is-waiting", "aria-hidden": "true" }, "\u2003"));
      made.replaceChildren(...spans);
      const current = made.querySelector(".is-current");
      return () => { page.scrollTop = Math.max(0, current.offsetTop + current.offsetHeight - page.clientHeight + 12); };
    };
  }

  Object.assign(S, { textPanel, LETTERS });
})(globalThis.SpecViz);
