/* The text strip: the prompt, quiet, then every token with its origin; rejected ones, and those behind the end of the
   text, stay in their place, boxed and said to be that, so that nobody reads them as text. */
// needs: bytes, dom, picture, prompt_text, state, wording
const text = (function (S) {
  "use strict";

  const { h } = S;
  const LETTERS = { accepted: "A", rejected: "R", correction: "C", bonus: "B", target: "T", forced: "F" };

  const FOLD = ["show the whole prompt", "fold the prompt"]; // what the button does: of a folded prompt, of an open one
  const CHAT = ["show all that the model read", "show the message alone"];

  function describe(token) {
    const name = S.visible(token.text, token.bytes);
    const fate = token.mark === "accepted" ? S.word("accepted draft") : S.fateWord(token.mark);
    return `${name} · ${fate} · round ${token.round + 1}`;
  }

  /** The token, and the line break it ends with: outside of it, so that its letter stands at its sign and not at the
      beginning of the next line. What a chat's `template` ends an answer with is shown as a sign: it is no text. */
  function tokenSpan(token, decided, template) {
    const text =
      token.text === "" || template
        ? [h("span", { class: "svp-sign", text: S.visible(token.text, token.bytes) })]
        : S.tokenText(token.text, { spaces: token.current || !S.isText(token.mark), breaks: S.isText(token.mark) });
    const settled = token.text === "" && !token.current; // its bytes show in the character that a later token completes
    const end = text.at(-1) === "\n" ? text.pop() : "";
    const span = h(
      "span",
      {
        class:
          `svp-tok ` +
          `is-${token.mark}${decided ? " is-decided" : ""}` +
          (token.current && !text.includes("\n") ? " is-whole" : ""),
        "data-round": token.round,
        "data-node": token.node,
        "data-letter": token.current ? LETTERS[token.mark] : null,
        title: describe(token) + (decided ? ` · ${S.DECIDED}` : ""),
        // heard as what it is in its own round; later the text is read without it
        "aria-hidden": !S.isText(token.mark) && !token.current ? "true" : null,
      },
      S.isText(token.mark) ? [] : h("span", { class: "svp-aloud" }, `${S.fateWord(token.mark)}: `),
      settled && S.isText(token.mark) ? [] : text,
    );
    return [span, end];
  }

  /** A part of the prompt: what is cited and what a chat's template wrote are set apart. */
  function promptPart({ text, template, cited }) {
    if (cited) return h("mark", { class: "svp-cited" }, text);
    return template ? h("span", { class: "svp-template" }, text) : text;
  }

  /** The tokens up to the moment as spans, a span around each round; those from `from` to `to` are cited.
      @param {Moment} now */
  function roundSpans(now, given, from, to) {
    const rounds = new Map();
    const { chat_message: message, tokenizer } = now.trace.started;
    const template = new Set(typeof message === "string" ? tokenizer.special_ids : []);
    let index = given;
    for (const token of S.tokens(now.trace, now.cursor)) {
      if (S.isText(token.mark)) {
        token.cited = index >= from && index < to;
        index += 1;
      }
      if (!rounds.has(token.round)) rounds.set(token.round, []);
      rounds.get(token.round).push(token);
    }
    const spans = [...rounds].map(([round, tokens]) =>
      h(
        "span",
        { class: `svp-round${round === now.cursor.round ? " is-current" : ""}` },
        tokens.flatMap((token) => {
          const [span, end] = tokenSpan(token, S.isGrounded(now.trace, token.token), template.has(token.token));
          if (token.current && String(token.node) === String(now.selected)) span.classList.add("is-selected");
          if (token.cited) span.classList.add("svp-cited");
          return [span, end];
        }),
      ),
    );
    if (!rounds.has(now.cursor.round))
      spans.push(h("span", { class: "svp-round is-current is-waiting", "aria-hidden": "true" }, "\u2003"));
    return spans;
  }

  /** @param {Act} act */
  function textPanel(box, act) {
    let open = false;
    let key = "";
    const prompt = h("span", { class: "svp-prompt" });
    const more = h("button", {
      type: "button",
      class: "svp-link",
      onclick: () => {
        open = !open;
        key = "";
        act.draw();
      },
    });
    const made = h("span", { class: "svp-made" });
    const page = h(
      "div",
      { class: "svp-page", tabindex: "0", role: "region", "aria-label": "the text so far" },
      prompt,
      made,
    );
    box.append(more, page);
    made.addEventListener("click", (event) => {
      const token = S.pressed(event, ".svp-tok");
      if (token)
        act.visit(Number(token.dataset.round), token.dataset.node === S.END ? S.END : Number(token.dataset.node));
    });

    return function draw(now) {
      const given = now.trace.started.prompt_ids.length;
      const [from, to] = now.cited ? [now.cited.position, now.cited.position + now.cited.count] : [0, 0];
      const inPrompt = now.cited && from < given;
      const wanted = `${inPrompt ? `${from} ${to}` : ""}|${now.trace.started.prompt_text}`;
      if (key !== wanted) {
        const shown = S.promptShown(now.trace, open, inPrompt ? [from, to] : null);
        prompt.replaceChildren(...shown.parts.map(promptPart));
        prompt.classList.toggle("is-message", shown.chat);
        more.hidden = !shown.more;
        more.setAttribute("aria-expanded", String(open));
        S.setText(more, (shown.chat ? CHAT : FOLD)[Number(open)]);
        key = wanted;
      }
      made.replaceChildren(...roundSpans(now, given, from, to));
      const current = made.querySelector(".is-current");
      const cited = now.cited ? page.querySelector(".svp-cited") : null;
      return () => {
        page.scrollTop = Math.max(
          0,
          cited ? cited.offsetTop - 24 : current.offsetTop + current.offsetHeight - page.clientHeight + 12,
        );
      };
    };
  }

  return { textPanel, LETTERS };
})(SpecViz);
Object.assign(SpecViz, text);
