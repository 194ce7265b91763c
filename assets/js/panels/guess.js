/* Guess mode: each verdict is asked before it is shown. The player then stands one beat earlier (`guessCursor`), so
   that no panel can give the answer away; what is right is read off the trace. One person answers with yes or no, a
   class counts its hands. Nothing is sent or stored. */
// needs: declared, dom, numbers, plain_words, sibling_rules, state, wording, words
const guess = (function (S) {
  "use strict";

  const { h } = S;
  const MOST_HANDS = 999;
  const KEYS = { y: "guessYes", Y: "guessYes", n: "guessNo", N: "guessNo", " ": "guessOn" };

  /** The sheet of answers of the run on the screen: Map "round.beat" → {yes, no, closed, accepted}.
      @param {PlayerState} own */
  function sheet(own) {
    const run = own.trace.started.run_id;
    if (!own.sheet || own.sheet.run !== run) own.sheet = { run, given: new Map(), hands: own.sheet?.hands ?? false };
    return own.sheet;
  }

  /** The trial that the cursor stands at, where guess mode asks for it: {key, trial, answer}; null elsewhere.
      @param {PlayerState} own */
  function asked(own) {
    if (!own.guess || !own.trace || !own.trace.rounds.length) return null;
    const round = own.trace.rounds[own.cursor.round];
    const at = S.beats(round)[own.cursor.beat];
    if (!at || at.trial === undefined) return null;
    const trial = round.judged.trials[at.trial];
    if (!S.counted(round).some((node) => node.id === trial.node)) return null; // it rides along, or the text is over
    const key = `${own.cursor.round}.${own.cursor.beat}`;
    return { key, round, trial, answer: sheet(own).given.get(key) || { yes: 0, no: 0, closed: false } };
  }

  /** @param {PlayerState} own */
  const waiting = (own) => {
    const question = asked(own);
    return question && !question.answer.closed ? question : null;
  };

  /** What the panels draw: the moment itself, or the one before it while its verdict is asked. Pure.
      @param {PlayerState} own */
  const guessCursor = (own) => (waiting(own) ? { round: own.cursor.round, beat: own.cursor.beat - 1 } : own.cursor);

  /** What may be told at the moment `at`: where the target's choice itself is asked, not what the target answered.
      @param {PlayerState} own @param {View} at */
  const guessView = (own, at) => (waiting(own)?.trial.u === null ? { ...at, veiled: true } : at);

  /** The question of a trial as one sentence, with the numbers that decide and without u. Pure.
      @param {Facts} facts */
  function question(facts) {
    const token = S.quote(facts.token);
    if (facts.u === null) {
      if (facts.round.judged.rule === "greedy") return `${token}: is this the target's most likely token? yes / no`;
      return `${token}: will the target keep it? yes / no`;
    }
    const rule = S.declared(facts.round.judged.rule);
    const name = facts.earlier ? "p/Q" : "p/q";
    const exact = rule && rule.equation === "ratio(p, q)" && facts.draft_prob > 0;
    const value = exact
      ? `${name} = ${S.prob(facts.target_prob)} / ${S.prob(facts.draft_prob)} = ${S.ratio(facts.ratio)}`
      : `its acceptance probability is ${S.prob(facts.threshold)}`;
    return `${token}: ${value}. Kept? yes / no`;
  }

  /** What the caption says while a verdict is asked; "" otherwise.
      @param {PlayerState} own */
  function guessCaption(own) {
    const open = waiting(own);
    if (!open) return "";
    const labels = S.nodeLabels(own.trace, own.cursor.round);
    return (S.isPlain() ? S.plainQuestion : question)(S.trialFacts(own.trace, open.round, labels, open.trial));
  }

  /** {verdicts, votes, right, waiting}: closed questions, answers given to them, and how many of these were right.
      @param {PlayerState} own */
  function guessScore(own) {
    const score = { verdicts: 0, votes: 0, right: 0, waiting: !!waiting(own) };
    for (const answer of own.trace ? sheet(own).given.values() : []) {
      if (!answer.closed) continue;
      score.verdicts += 1;
      score.votes += answer.yes + answer.no;
      score.right += answer.accepted ? answer.yes : answer.no;
    }
    return score;
  }

  /** Whether the question that waits has answers that are not shown yet.
      @param {PlayerState} own */
  function counted(own) {
    const open = own.guess ? waiting(own) : null;
    return !!open && open.answer.yes + open.answer.no > 0;
  }

  /** @param {PlayerState} own */
  function answer(own, change, close) {
    const open = waiting(own);
    if (!open) return;
    const next = { ...open.answer, ...change };
    sheet(own).given.set(open.key, { ...next, closed: close, accepted: open.trial.accepted });
  }

  /** @param {PlayerState} own */
  function vote(own, which) {
    const open = waiting(own);
    if (!open) return;
    const { hands } = sheet(own);
    answer(own, { [which]: hands ? Math.min(MOST_HANDS, open.answer[which] + 1) : 1 }, !hands);
  }

  /** What a key does in guess mode; null where it does what it always does.
      @param {PlayerState} own */
  const guessKey = (own, event) =>
    own.guess && !event.ctrlKey && !event.metaKey && !event.altKey && Object.hasOwn(KEYS, event.key)
      ? KEYS[event.key]
      : null;

  /** Does what a key or button of guess mode asks for; whether it was one.
      @param {PlayerState} own @param {Act} act */
  function guessRun(own, name, act) {
    const open = own.guess ? waiting(own) : null;
    const on = name === "next" && counted(own); // hands that were counted are not passed over
    if (!own.guess || !(on || ["guessYes", "guessNo", "guessOn", "play"].includes(name))) return false;
    if (name === "guessYes" || name === "guessNo") vote(own, name === "guessYes" ? "yes" : "no");
    else if (counted(own)) answer(own, {}, true);
    else if (!open) act.run("next");
    act.draw();
    return true;
  }

  /** How the guesses on a verdict went, as a sentence. Pure. */
  function outcome(given, score, hands) {
    const right = given.accepted ? given.yes : given.no;
    const all = given.yes + given.no;
    const verdict = given.accepted ? S.say("Kept", "It stays") : S.say("Rejected", "It goes");
    if (!hands && all === 1)
      return `${verdict}: you were ${right ? "right" : "wrong"}. ${score.right} of ${score.votes} right so far.`;
    return (
      `${verdict}: ${right} of ${S.count(all, "hand")} had it. ` +
      `${score.right} of ${score.votes} right so far, over ` +
      `${S.say(S.count(score.verdicts, "verdict"), S.count(score.verdicts, "guess", "guesses"))}.`
    );
  }

  /** The bar from 0 to 1, split where u decides; the needle stands at u once it may be seen.
      @param {trace.Trial} trial */
  function uBar(trial, shown) {
    const [u, split] = S.compared(trial.u, trial.threshold);
    const kept = h("i", { class: "svp-ukept" });
    kept.style.width = `${trial.threshold * 100}%`;
    const needle = h("i", { class: "svp-uneedle" }, h("span", {}, `u ${u}`));
    needle.style.left = `${trial.u * 100}%`;
    needle.classList.toggle("is-late", trial.u > 0.5);
    const [stays, gone] = [S.say("kept below", "stays below"), S.say("rejected from", "goes from")];
    const words = `0 to 1, ${stays} ${split}, ${gone} there${shown ? `; u is ${u}` : "; u is not shown yet"}`;
    return [
      h("div", { class: "svp-utrack", role: "img", "aria-label": words }, kept, shown ? needle : null),
      h(
        "div",
        { class: "svp-uends", "aria-hidden": "true" },
        h("span", {}, `0 · ${stays} ${split}`),
        h("span", {}, `${gone} ${split} · 1`),
      ),
    ];
  }

  /** What stands in the bar's place where nothing is drawn.
      @param {Facts} facts */
  function plainly(facts, shown) {
    if (!shown) return [h("p", { class: "svp-small" }, S.word("Nothing is drawn here: no u decides."))];
    const whose = S.say("The target's first choice is", "The big model would write");
    const first = facts.first === null ? "" : ` ${whose} ${S.quote(facts.first)}.`;
    const fate = facts.accepted ? S.say("Kept", "It stays") : S.say("Rejected", "It goes");
    return [h("p", { class: "svp-small" }, ...S.sentence(`${fate}.${first}`))];
  }

  /** The buttons, the fields of a class's hands and the bar, in a box.
      @param {Act} act */
  function guessBox(act) {
    const press = (text, name, key) =>
      h(
        "button",
        { type: "button", class: `svp-btn svp-guess-${name}`, onclick: () => act.run(name) },
        text,
        h("kbd", { "aria-hidden": "true" }, key),
      );
    const typed = (which, words) =>
      h("input", {
        type: "number",
        min: 0,
        max: MOST_HANDS,
        inputmode: "numeric",
        "aria-label": `hands for ${words}`,
        oninput: (event) => {
          const hands = Math.trunc(Number(event.target.value));
          answer(act.now().own, { [which]: Math.max(0, Math.min(MOST_HANDS, hands || 0)) }, false);
          act.draw();
        },
      });
    const [yes, no] = [press("yes", "guessYes", "Y"), press("no", "guessNo", "N")];
    const [yesHands, noHands] = [typed("yes", "yes"), typed("no", "no")];
    const on = press("next", "guessOn", "Space");
    const told = h("p", { class: "svp-small svp-guess-told", role: "status" });
    const hands = h(
      "button",
      {
        type: "button",
        class: "svp-link svp-guess-hands",
        onclick: () => {
          const own = act.now().own;
          sheet(own).hands = !sheet(own).hands;
          act.draw();
        },
      },
      "count a class's hands",
    );
    const bar = h("div", { class: "svp-ubar" });
    const row = h("div", { class: "svp-guess-row" }, yes, yesHands, no, noHands, on, told, hands);
    const box = h("div", { class: "svp-guess", role: "group", "aria-label": "guess mode" }, row, bar);
    return { box, bar, yes, no, yesHands, noHands, on, told, hands };
  }

  /** @param {Act} act */
  function guessPanel(stage, act) {
    const { box, bar, yes, no, yesHands, noHands, on, told, hands } = guessBox(act);
    stage.querySelector(".svp-transport").append(box);
    const toggle = h("button", {
      type: "button",
      class: "svp-link svp-guess-switch",
      onclick: () => act.set({ guess: !act.now().own.guess }),
    });
    stage.querySelector(".svp-tools").prepend(toggle);

    return function draw(now) {
      const { own } = now;
      S.setText(toggle, own.guess ? "leave guess mode" : S.word("guess mode: predict each verdict"));
      S.set(toggle, "aria-pressed", own.guess);
      box.hidden = !own.guess;
      if (!own.guess) return;
      const at = asked(own);
      const open = waiting(own);
      const many = sheet(own).hands;
      const focused = [yes, no, on, hands].find((button) => button === document.activeElement);
      for (const part of [yes, no]) part.hidden = !open;
      for (const part of [yesHands, noHands]) part.hidden = !open || !many;
      on.hidden = !!open && !many;
      on.disabled = !!open && open.answer.yes + open.answer.no === 0;
      S.setText(on.firstChild, open ? "show" : "next");
      S.set(hands, "aria-pressed", many);
      S.setText(hands, many ? "one person" : "count a class's hands");
      if (open)
        for (const { input, value } of [
          { input: yesHands, value: open.answer.yes },
          { input: noHands, value: open.answer.no },
        ])
          if (document.activeElement !== input || Number(input.value) !== value) input.value = String(value);
      const score = guessScore(own);
      S.setText(
        told,
        open
          ? ""
          : at && at.answer.yes + at.answer.no
            ? outcome(at.answer, score, many)
            : score.votes
              ? `${score.right} of ${score.votes} right so far.`
              : S.word("Each verdict is asked before it is shown."),
      );
      const facts = at ? S.trialFacts(now.trace, at.round, now.labels, at.trial) : null;
      bar.replaceChildren(...(!at ? [] : at.trial.u === null ? plainly(facts, !open) : uBar(at.trial, !open)));
      if (focused && focused.hidden) (open ? yes : on).focus();
    };
  }

  return {
    guessCursor,
    guessView,
    guessCaption,
    guessScore,
    guessCounted: counted,
    guessKey,
    guessRun,
    guessPanel,
    guessQuestion: question,
    guessAsked: asked,
  };
})(SpecViz);
Object.assign(SpecViz, guess);
