/* A moment as a card to be shared: its round in one line, the tokens with their fates, what it comes from, a comment
   that is pinned there, the link and its QR code. A drawing of 1200 × 630, which share.js saves. */
// needs: bytes, dom, numbers, pins, plain_words, prompt_text, qr, state, wording
const momentCard = (function (S) {
  "use strict";

  const { svg } = S;
  const [WIDE, TALL, EDGE] = [1200, 630, 60];
  const [CHIP, LETTER] = [58, 18]; // height of a token, width of a letter of 30 px
  const CODE = 190; // of the QR code
  const MOST = { token: 14, before: 52, comment: 66, link: 78 };

  const line = (x, y, size, kind, text) => svg("text", { x, y, "font-size": size, class: `svm-${kind}` }, text);

  /** Pure: what is shown as tokens: those accepted, those rejected where the path ends, the last one. Each is
      {label, fate}.
      @param {trace.Trace} trace @param {trace.Round} round */
  function cardTokens(trace, round, labels) {
    const { path, trials, final_node: final, origin } = round.judged;
    const accepted = path.map((node) => ({ label: labels[node], fate: "accepted" }));
    const rejected = trials
      .filter((trial) => !trial.accepted && round.nodes[trial.node].parent === final)
      .map((trial) => ({ label: labels[trial.node], fate: "rejected" }));
    if (S.endsText(round)) return accepted.slice(0, round.committed.tokens.length);
    return [...accepted, ...rejected, { label: labels[S.END], fate: origin }];
  }

  function chips(tokens) {
    let x = EDGE;
    const drawn = [];
    for (const { label, fate } of tokens) {
      const text = S.short(label, MOST.token);
      const width = Array.from(text).length * LETTER + 62;
      if (x + width > WIDE - EDGE) {
        drawn.push(line(x, 40, 34, "quiet", "…"));
        break;
      }
      drawn.push(
        svg(
          "g",
          { transform: `translate(${x},0)` },
          svg("rect", { width, height: CHIP, rx: 10, class: `svm-chip is-${fate}` }),
          svg("path", { d: S.SHAPES[fate], class: `svm-shape is-${fate}`, transform: "translate(26,29) scale(1.5)" }),
          svg("text", { x: 46, y: 39, "font-size": 30, class: `svm-token is-${fate}` }, text),
        ),
      );
      x += width + 12;
    }
    return drawn;
  }

  /** Pure: the end of the text that the round goes on from.
      @param {trace.Trace} trace */
  function textBefore(trace, round) {
    const written = round ? S.tokens(trace, { round: round - 1, beat: 1e6 }).filter(({ mark }) => S.isText(mark)) : [];
    const parts = S.signs(S.writtenPrompt(trace).slice(-4 * MOST.before) + written.map(({ text }) => text).join(""));
    const letters = Array.from(parts.map(({ text }) => text.replaceAll("␣", " ")).join(""));
    return letters.length > MOST.before ? `…${letters.slice(1 - MOST.before).join("")}` : letters.join("");
  }

  /** Where the run comes from, in a line.
      @param {{ started: trace.Started }} trace */
  const comesFrom = ({ started }) =>
    `${started.source} run · ${S.word("drafter")} ${started.drafter.name}, ${S.word("verifier")} ` +
    `${started.verifier.name}, ${S.inRole("target", started.target.name)}`;

  /** The drawing of the moment `now`, with the link.
      @param {Moment} now */
  function cardPicture(now, url) {
    const { trace, round, cursor } = now;
    const said = S.roundLine(round, S.isPlain());
    const size = Math.min(72, Math.floor((WIDE - 2 * EDGE) / (0.56 * said.length)));
    const before = textBefore(trace, cursor.round);
    const pin = S.pinsOf(trace).find((one) => one.round === cursor.round && one.beat === cursor.beat);
    const code = S.qrPicture(url);
    if (code) {
      code.removeAttribute("class");
      for (const [name, value] of Object.entries({
        x: WIDE - EDGE - CODE,
        y: TALL - EDGE - CODE,
        width: CODE,
        height: CODE,
      }))
        code.setAttribute(name, String(value));
    }
    return svg(
      "svg",
      { viewBox: `0 0 ${WIDE} ${TALL}`, class: "svm", role: "img", "aria-label": `${said}; ${url}` },
      svg("rect", { width: WIDE, height: TALL, class: "svm-ground" }),
      svg("rect", { width: 14, height: TALL, class: "svm-edge" }),
      line(EDGE, 84, 40, "name", "SpecViz"),
      line(EDGE, 122, 22, "quiet", S.short(comesFrom(trace), 92)),
      line(EDGE, 220, size, "said", said),
      line(EDGE, 290, 26, "before", before),
      svg("g", { transform: "translate(0,318)" }, chips(cardTokens(trace, round, now.labels))),
      pin ? line(EDGE, 440, 28, "pin", `“${S.short(pin.text, MOST.comment)}”`) : null,
      line(EDGE, 510, 22, "quiet", `round ${cursor.round + 1} of ${trace.rounds.length}`),
      line(EDGE, TALL - EDGE, 18, "link", S.short(url, MOST.link)),
      code,
    );
  }

  return { cardTokens, textBefore, cardPicture };
})(SpecViz);
Object.assign(SpecViz, momentCard);
