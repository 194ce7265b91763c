/* The card of the selected node: what it is, both distributions behind it, and the arithmetic that judged it. */
// needs: bars, bytes, declared, distributions, dom, numbers, overlap, picture, plain_words, rules, sibling_rules, state
// needs: touch, why, wording, words
const card = (function (S) {
  "use strict";

  const { h, END } = S;
  S.bringsTerms({
    sentences: [".svp-words", ".svp-card > header .svp-small", ".svp-numbers dd > span", ".svp-steps > .svp-small"],
    labels: [".svp-numbers dt", ".svp-steps thead th"],
  });
  const DEPTHS = ["words", "numbers", "formula"];

  /** For a run with a picture: whether it decides the token.
      @param {Moment} now */
  const bywhat = (now, token) =>
    now.trace.started.scene ? ` · ${S.isGrounded(now.trace, token) ? S.DECIDED : "grammar"}` : "";

  /** @param {Moment} now */
  function place(now, id) {
    if (id === END && S.endsText(now.round)) return S.fateWord("behind");
    if (id === END) return `${S.fateWord(now.stateOf(END))} · ends the round${bywhat(now, now.round.judged.token)}`;
    const node = now.round.nodes[id];
    if (id === 0) return S.word("the last committed token · root of this round's tree");
    const siblings = now.round.nodes.filter((other) => other.parent === node.parent);
    const which = `${S.ordinal(siblings.indexOf(node) + 1)} of ${siblings.length}`;
    const among = siblings.length > 1 ? ` · ${which} ${S.say("siblings", "guesses for its place")}` : "";
    const depth = S.say(`depth ${node.depth}`, `${S.ordinal(node.depth)} guess in a row`);
    return `${S.fateWord(now.stateOf(id))} · ${depth}${among}${bywhat(now, node.token)}`;
  }

  /** What decided about a candidate that passed and is not on the path. */
  const pathKept = ({ judged }) => [
    "path",
    S.count(judged.path.length, "token"),
    "the longest path that passed is kept, and this is not on it: rejected",
  ];

  /** Words, numbers, formula and code for what is selected, as far as the view has got.
      @param {Moment} now */
  function explain(now, id) {
    const { round, labels, at } = now;
    if (id === END) return ended(now);
    const node = round.nodes[id];
    if (id === 0) {
      const cached = S.say(
        "Its row was not in the cache yet, so the target pass computes it together with the candidates.",
        "The big model had not read it yet, so its pass looks at it together with the guesses.",
      );
      const begins = S.say("Everything drafted in this round continues from", "All guesses of this round go on from");
      return { words: at.scored ? cached : `${begins} ${S.quote(labels[0])}.`, numbers: [] };
    }
    const told = S.told(at);
    const [q, p] = S.odds(now.trace, round, node, told);
    const frozen = told && S.cold(now.trace, round.nodes[node.parent]);
    const before = frozen ? ", before temperature 0" : "";
    const odds = [
      ["p", p, `target${before}`],
      ["q", q, `draft${before}`],
    ].filter(([, value]) => value !== "–");
    const state = now.stateOf(id);
    const trial = now.trialOf(id);
    if (trial && now.judged(id)) {
      const rule = S.ruleOf(round);
      const facts = S.trialFacts(now.trace, round, labels, trial);
      const beaten = trial.accepted && state === "rejected"; // only where whole paths compete
      const longer = beaten
        ? S.say(" It passed, but another path is kept: rejected.", " But another way through is kept: it goes.")
        : "";
      const numbers = beaten ? [...rule.numbers(facts), pathKept(round)] : rule.numbers(facts);
      return {
        words: S.sayVerdict(facts) + S.sayAside(round, id) + longer,
        numbers,
        steps: rule.steps(facts, now.at.trials),
        formula: rule.formula,
        code: rule.code,
      };
    }
    if (state === "behind") {
      const counted = S.say("it is no text, and in no rate", "it counts nowhere");
      return { words: `${S.quote(labels[id])} lies behind the end of the text: ${counted}.`, numbers: odds };
    }
    if (state === "unreached") {
      const why = S.sayUnreached(now.trace, round, labels, id);
      return { words: `${why} The pass had ${S.say("scored", "looked at")} it all the same.`, numbers: odds };
    }
    const how =
      node.kind === "point_mass"
        ? `proposed as it is, not drawn${q === "–" ? "" : `; the drafter gives it ${q}`}`
        : `drawn by the drafter with probability ${q}`;
    const next = frozen ? "Only the target's first choice counts; the verdict comes next." : "Its verdict comes next.";
    const words = S.say(
      told ? `The target gives ${S.quote(labels[id])} ${p}. ${next}` : `${S.quote(labels[id])} was ${how}.`,
      told
        ? `The big model gives ${S.quote(labels[id])} ${p}. Whether it stays comes next.`
        : `${S.quote(labels[id])} was guessed by ${S.guesserInPlainWords(now.trace)}.`,
    );
    return { words, numbers: odds };
  }

  /** How the correction's r follows from p, Q and the mass left, with the values put in where they are known.
      @param {Moment} now */
  function residualWords(now, probability) {
    const { round } = now;
    const { judged } = round;
    const said = "in what was left over";
    const below = judged.trials.filter((trial) => round.nodes[trial.node].parent === judged.final_node);
    const final = round.nodes[judged.final_node];
    const simple = S.declared(judged.rule)?.equation === "ratio(p, q)" && below.length === 1;
    if (!simple || probability === null || !(judged.residual_mass > 0)) return said;
    const only = round.nodes[below[0].node];
    const p = S.known(final.target, judged.token);
    const q = only.kind === "point_mass" ? 0 : final.draft ? S.known(final.draft, judged.token) : null;
    if (p === null || q === null) return said;
    const mass = S.prob(judged.residual_mass, 3);
    return `${said}: max(0, p − q) / mass = (${S.prob(p, 3)} − ${S.prob(q, 3)}) / ${mass}`;
  }

  /** @param {Moment} now */
  function ended(now) {
    const { judged } = now.round;
    const final = now.round.nodes[judged.final_node];
    const frozen = S.cold(now.trace, final);
    const from = judged.residual ? judged.residual : frozen ? final.target_raw : final.target;
    const probability = S.known(from, judged.token);
    const numbers = [
      [
        judged.residual ? "r" : "p",
        probability === null ? S.below(S.atMost(from)) : S.prob(probability),
        judged.residual
          ? residualWords(now, probability)
          : frozen
            ? "target, before temperature 0: its largest, so its first choice"
            : "in the target's distribution",
      ],
    ];
    const rule = S.ruleOf(now.round);
    if (judged.residual) numbers.push(["mass", S.prob(judged.residual_mass), rule.rest]);
    if (judged.u !== null)
      numbers.push(["u", S.prob(judged.u), "the draw that picked it", "chosen by chance: it picked this token"]);
    // Other engines draw without a uniform number: above temperature 0 a missing u is no argmax.
    const drawn = judged.u !== null || now.trace.started.sampling.temperature > 0;
    const formula = judged.residual
      ? [rule.restFormula].filter(Boolean)
      : drawn
        ? ["x is drawn from p"]
        : ["x = argmax p"];
    const code = judged.residual ? ["token = draw(r)"] : [drawn ? "token = draw(p)" : "token = p.argmax()"];
    const last =
      judged.trials.findLast((trial) => now.round.nodes[trial.node].parent === judged.final_node) ||
      judged.trials.at(-1);
    const steps = last ? rule.steps(S.trialFacts(now.trace, now.round, now.labels, last), now.at.trials) : null;
    if (S.endsText(now.round)) return { words: S.sayEnding(now.round, now.labels), numbers };
    return { words: S.sayEnding(now.round, now.labels), numbers, steps, formula, code };
  }

  /** What was worked out before and beside the selection, one row per token; a row leads to its node.
      @param {Moment} now @param {Act} act */
  function worksheet(now, id, steps, act) {
    const row = (one) => {
      const node = one.node ?? one.trial.node;
      const fate = now.stateOf(node);
      const name = h(
        "button",
        {
          type: "button",
          class: "svp-name",
          title: now.nameOf(node),
          "aria-label": now.nameOf(node),
          onclick: () => act.select(node),
        },
        S.glyph(fate),
        S.short(now.labels[node], 10),
      );
      return S.tableRow(name, one.cells, { class: node === id ? "is-selected" : null });
    };
    return h(
      "div",
      { class: "svp-steps" },
      h("p", { class: "svp-small" }, S.word(steps.title)),
      h(
        "div",
        {
          class: "svp-steps-box",
          tabindex: steps.rows.length > 8 ? "0" : null,
          role: "group",
          "aria-label": S.word(steps.title),
        },
        h(
          "table",
          {},
          steps.head.length ? S.columnHeads(steps.head.map(S.word)) : null,
          h("tbody", {}, steps.rows.map(row)),
        ),
      ),
      steps.foot ? h("p", { class: "svp-small" }, S.say(steps.foot, steps.plain)) : null,
    );
  }

  const MOST_TOUCHED = 5; // bars of tokens

  /** The node whose distributions stand behind what is selected.
      @param {Moment} now */
  const behind = ({ round }, id) => (id === END ? round.judged.final_node : id === 0 ? 0 : round.nodes[id].parent);

  /** p and q behind the selection as bars to be dragged: what was chosen and the most probable tokens of either; null
      where one of the two is not told.
      @param {Moment} now */
  function barsHere(now) {
    const { round, selected } = now;
    const parent = behind(now, selected);
    const { target, draft } = round.nodes[parent];
    if (!S.told(now.at) || !target || !draft) return null;
    const chosen = selected === END ? round.judged.token : round.nodes[selected].token;
    const likely = [0, 1, 2, 3].flatMap((rank) => [target.tokens[rank], draft.tokens[rank]]);
    const tokens = [...new Set([...(selected === 0 ? [] : [chosen]), ...likely])]
      .filter((token) => token !== undefined)
      .slice(0, MOST_TOUCHED);
    const bars = (head) => S.hundredths(tokens.map((token) => S.known(head, token) ?? 0));
    const names = tokens.map((token) => S.label(now.trace, token, now.labels.after(parent)));
    return { names, p: bars(target), q: bars(draft) };
  }

  /** @param {Act} act */
  function cardPanel(box, act) {
    let depth = DEPTHS.includes(S.memory.get("depth", "")) ? S.memory.get("depth", "") : "numbers";
    const title = h("h3", { class: "svp-title" });
    const kind = h("p", { class: "svp-small" });
    const chart = h("div");
    const words = h("p", { class: "svp-words" });
    const table = h("dl", { class: "svp-numbers" });
    const math = h("div", { class: "svp-math" });
    const steps = h("div");
    const reasons = h("div", { class: "svp-reasons" });
    const choices = h(
      "div",
      { class: "svp-depth", role: "group", "aria-label": "how much detail" },
      DEPTHS.map((name) =>
        h(
          "button",
          {
            type: "button",
            "data-depth": name,
            onclick: () => {
              depth = name;
              S.memory.set("depth", name);
              act.draw();
            },
          },
          name,
        ),
      ),
    );
    const hands = S.touchFolded(() => barsHere(act.now()));
    box.append(h("header", {}, title, kind), chart, words, table, reasons, steps, math, choices, hands);

    return function draw(now) {
      const id = now.selected;
      title.replaceChildren(S.glyph(now.stateOf(id)), h("span", { class: "svp-mono" }, S.short(now.labels[id], 32)));
      S.set(title, "aria-label", S.spoken(now.labels[id]));
      S.setText(kind, place(now, id));
      chart.replaceChildren(S.barsPanel(now, behind(now, id), id, act));
      const said = explain(now, id);
      words.replaceChildren(...S.sentence(said.words));
      const level = DEPTHS.indexOf(depth);
      table.replaceChildren(
        ...(level > 0 ? said.numbers : []).map((row) =>
          h(
            "div",
            { "data-number": row[0] },
            h("dt", {}, S.word(row[0])),
            h("dd", {}, h("b", {}, row[1]), h("span", {}, S.sayNumber(row))),
          ),
        ),
      );
      reasons.replaceChildren(...(level > 0 ? S.whyLines(now) : []));
      const lines = level > 1 ? said : {};
      math.replaceChildren(
        ...(lines.formula || []).map((text) => h("p", { class: "svp-formula" }, text)),
        ...(lines.code && lines.code.length ? [h("pre", {}, lines.code.join("\n"))] : []),
      );
      steps.replaceChildren(...(level > 0 && said.steps ? [worksheet(now, id, said.steps, act)] : []));
      for (const button of choices.querySelectorAll("button"))
        S.set(button, "aria-pressed", button.dataset.depth === depth);
      return () => {
        const list = steps.querySelector(".svp-steps-box"),
          row = steps.querySelector("tr.is-selected");
        if (row && list.scrollHeight > list.clientHeight) list.scrollTop = row.offsetTop - list.clientHeight / 2;
      };
    };
  }

  return { cardPanel, explain };
})(SpecViz);
Object.assign(SpecViz, card);
