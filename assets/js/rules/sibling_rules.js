/* Rules that judge siblings, each in its own terms: a sentence, the numbers with what they are, the steps before and
   beside a
   trial. Formulas and lines of code are the verifiers' own declarations (declared.js). Pure.
   `facts` is what `trialFacts` gathers; names such as `parent_reach` are those of the trace's `terms`. */
// needs: numbers
const siblingRules = (function (S) {
  "use strict";

  const quote = (token) => `\u2068${token}\u2069`;
  /** @param {Facts} facts */
  const verdict = (facts) => (facts.accepted ? "accepted" : "rejected");
  const number = (x) => (typeof x === "number" && Number.isFinite(x) ? x : null);
  const atMostOne = (x) => Math.min(1, x);
  const ratioOf = (p, by) => (by > 0 ? p / by : p > 0 ? Infinity : 0);
  const cap = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  /** The trials of the candidates for one place among the first `said`, in the order they were made.
      @param {Facts} facts */
  const triedBelow = (facts, said) => {
    const family = new Set(facts.family.map((node) => node.id));
    return facts.round.judged.trials.slice(0, said).filter((trial) => family.has(trial.node));
  };
  /** @param {Facts} facts */
  const parentOf = (facts) => facts.round.nodes[facts.node].parent;

  /** The acceptance probability from a ratio, with the value put in. */
  const atMost = (ratio, threshold) => `acceptance probability min(1, ${S.ratio(ratio)}) = ${threshold}`;

  /** u against the acceptance probability, with as many digits as it takes.
      @param {Facts} facts */
  function uniform(facts) {
    const [u, threshold] = S.compared(facts.u, facts.threshold);
    const passes = facts.round.judged.order === "longest" ? "passes" : "accepted"; // there a longer path may still win
    const plain = facts.accepted ? `below ${threshold}: it stays` : `not below ${threshold}: it goes`;
    return {
      u,
      threshold,
      row: [
        "u",
        u,
        `${facts.accepted ? "<" : "≥"} ${threshold}: ${facts.accepted ? passes : "rejected"}`,
        `chosen by chance, ${plain}`,
      ],
    };
  }
  /** @param {trace.Trial} trial */
  const drawCell = (trial) => (trial.u === null ? "–" : S.compared(trial.u, trial.threshold)[0]);

  /** p and Q of a trial, and what they were before siblings were rejected.
      @param {Facts} facts */
  function pAndQ(facts) {
    const changed = (now, before) =>
      before !== null && Math.abs(now - before) > 1e-6 ? ` (${S.prob(before)} before)` : "";
    const drawn =
      facts.kind === "point_mass"
        ? "proposed as certain"
        : facts.earlier && facts.kind === "without_replacement"
          ? `draft, without the rejected siblings${changed(facts.draft_prob, facts.q0)}`
          : "draft";
    return [
      [
        "p",
        S.prob(facts.target_prob),
        facts.earlier
          ? `target, after ${S.count(facts.earlier, "rejection")}${changed(facts.target_prob, facts.p0)}`
          : "target",
      ],
      [facts.earlier ? "Q" : "q", S.prob(facts.draft_prob), drawn],
    ];
  }

  /** Siblings one below the other, each with what it was judged by. `columns`: [heading, trial → text].
      @param {Facts} facts */
  function siblings(facts, said, title, columns, foot = { foot: "", plain: "" }) {
    const tried = triedBelow(facts, said);
    if (tried.length < 2) return null;
    return {
      title,
      head: ["candidate", ...columns.map(([name]) => name), "u"],
      rows: tried.map((trial) => ({ trial, cells: [...columns.map(([, cell]) => cell(trial)), drawCell(trial)] })),
      ...foot,
    };
  }

  /** What the correction was drawn from, once it is drawn.
      @param {Facts} facts */
  const leftover = (facts, said) => {
    const { judged } = facts.round;
    const ended =
      said >= judged.trials.length &&
      parentOf(facts) === judged.final_node &&
      judged.residual_mass !== null &&
      judged.origin === "correction";
    return ended
      ? {
          foot:
            `All rejected. Of the last p, ${S.prob(judged.residual_mass)} is left after the last Q is subtracted; ` +
            `divided by that it is whole again, and the correction is drawn from it.`,
          plain:
            `All of them go. In ${S.prob(judged.residual_mass)} of all cases something is still missing, and the ` +
            "token that is written instead makes up for it.",
        }
      : { foot: "", plain: "" };
  };

  const sequential = {
    words(facts) {
      const left = facts.earlier
        ? `what the ${facts.earlier === 1 ? "rejected sibling" : `${S.spelled(facts.earlier)} rejected siblings`} ` +
          `left of the target`
        : "the target";
      const { u, threshold } = uniform(facts);
      if (facts.target_prob === 0) return `${cap(left)} gives ${quote(facts.token)} probability 0: rejected.`;
      if (facts.kind === "point_mass")
        return (
          `${quote(facts.token)} was proposed without drawing, so it is kept as often as ${left} would say ` +
          `it: acceptance probability ${threshold}. The uniform draw u is ${u}: ${verdict(facts)}.`
        );
      if (facts.threshold >= 1)
        return `${cap(left)} likes ${quote(facts.token)} at least as much as the draft did: accepted without a doubt.`;
      return (
        `${cap(left)} likes ${quote(facts.token)} only ${S.ratio(facts.ratio)} times as much as the draft ` +
        `did. Its acceptance probability is ${threshold}; the uniform draw u is ${u}: ${verdict(facts)}.`
      );
    },
    numbers(facts) {
      const { threshold, row } = uniform(facts);
      return [
        ...pAndQ(facts),
        [
          facts.earlier ? "p/Q" : "p/q",
          S.ratio(facts.ratio),
          `${S.prob(facts.target_prob)} / ${S.prob(facts.draft_prob)}; ${atMost(facts.ratio, threshold)}`,
        ],
        row,
      ];
    },
    steps: (facts, said) =>
      siblings(
        facts,
        said,
        "siblings in the order they were tried; each rejection changes p for the next",
        [
          ["p left", (trial) => S.prob(trial.target_prob)],
          ["Q", (trial) => S.prob(trial.draft_prob)],
          ["p/Q", (trial) => S.ratio(ratioOf(trial.target_prob, trial.draft_prob))],
        ],
        leftover(facts, said),
      ),
  };

  const lenience = {
    ...sequential,
    words(facts) {
      const factor = number(facts.options.lenience);
      const { u, threshold } = uniform(facts);
      const { share } = facts.terms;
      if (number(share) !== null)
        return (
          `At temperature 0 nothing is drawn: ${quote(facts.token)} has ${S.prob(share)} of the probability ` +
          `of the target's first choice, and lenience asks for ${S.ratio(factor)}: ` +
          `${verdict(facts)}.${facts.accepted && share < 1 ? " Exact greedy decoding would have rejected it." : ""}`
        );
      if (factor === null || factor === 1 || facts.target_prob === 0 || facts.ratio >= 1)
        return sequential.words(facts);
      const exact = atMostOne(facts.ratio);
      const drift =
        facts.accepted && facts.u >= exact
          ? " The exact rule would have rejected it: here the text drifts from the target."
          : "";
      return (
        `The exact rule would keep ${quote(facts.token)} with probability ${S.prob(exact)}; lenience ` +
        `${S.ratio(factor)} divides by ${S.ratio(factor)} and makes it ${threshold}. The uniform draw u is ${u}: ` +
        `${verdict(facts)}.${drift}`
      );
    },
    numbers(facts) {
      const factor = number(facts.options.lenience);
      const { threshold, row } = uniform(facts);
      const { share } = facts.terms;
      if (number(share) !== null)
        return [
          ["share", S.prob(share), "p / max p, by the target's own softmax"],
          ["l", S.ratio(factor), `lenience; the share must reach it: ${facts.accepted ? "accepted" : "rejected"}`],
        ];
      return [
        ...pAndQ(facts),
        [
          "p/Q",
          S.ratio(facts.ratio),
          `${S.prob(facts.target_prob)} / ${S.prob(facts.draft_prob)}; the exact rule's probability: ` +
            S.prob(atMostOne(facts.ratio)),
        ],
        ["l", S.ratio(factor), "lenience; 1 would forgive nothing"],
        [
          "p/lQ",
          factor === null ? "–" : S.ratio(ratioOf(facts.target_prob, factor * facts.draft_prob)),
          `${S.prob(facts.target_prob)} / (${S.ratio(factor)} · ${S.prob(facts.draft_prob)}); ` +
            `acceptance probability ${threshold}`,
        ],
        row,
      ];
    },
  };

  const kseq = {
    words(facts) {
      const { u, threshold } = uniform(facts);
      const { rho } = facts.terms;
      if (facts.siblings === 1)
        return (
          `${quote(facts.token)} is alone, so ρ is 1 and the rule is min(1, p/q): acceptance ` +
          `probability ${threshold}. ` +
          `The uniform draw u is ${u}: ${verdict(facts)}.`
        );
      return (
        `${quote(facts.token)} is one of ${facts.siblings} siblings that are all judged alike, with p ` +
        `divided by ρ = ${S.ratio(rho)}, so that together they take no more than the target has. Probability ` +
        `${threshold}; the uniform draw u is ${u}: ${verdict(facts)}.`
      );
    },
    numbers(facts) {
      const { rho, beta } = facts.terms;
      const { threshold, row } = uniform(facts);
      if (facts.siblings === 1)
        return [
          ...pAndQ(facts),
          ["ρ", S.ratio(rho), "1, because it has no siblings"],
          [
            "p/q",
            S.ratio(facts.ratio),
            `${S.prob(facts.target_prob)} / ${S.prob(facts.draft_prob)}; ${atMost(facts.ratio, threshold)}`,
          ],
          row,
        ];
      const any = number(beta) === null ? null : 1 - (1 - beta) ** facts.siblings;
      return [
        ["p", S.prob(facts.target_prob), "target; rejected siblings take nothing away"],
        ["q", S.prob(facts.draft_prob), "draft"],
        ["ρ", S.ratio(rho), `solves 1 − (1 − β)ᴷ = ρβ for K = ${facts.siblings}`],
        ["β", S.prob(beta), "probability that one candidate passes"],
        [
          "any",
          S.prob(any),
          `1 − (1 − ${S.prob(beta)})^${facts.siblings}: probability that one of ${facts.siblings} passes`,
        ],
        [
          "p/ρq",
          S.ratio(ratioOf(facts.target_prob, rho * facts.draft_prob)),
          `${S.prob(facts.target_prob)} / (${S.ratio(rho)} · ${S.prob(facts.draft_prob)}); ` +
            `acceptance probability ${threshold}`,
        ],
        row,
      ];
    },
    steps: (facts, said) =>
      siblings(facts, said, "siblings in the order they were tried; p and ρ stay as they are", [
        ["p", (trial) => S.prob(trial.target_prob)],
        ["q", (trial) => S.prob(trial.draft_prob)],
        ["p/ρq", (trial) => S.ratio(ratioOf(trial.target_prob, (trial.terms || {}).rho * trial.draft_prob))],
      ]),
  };

  const ruleParts = {
    quote,
    verdict,
    number,
    atMostOne,
    ratioOf,
    cap,
    triedBelow,
    parentOf,
    uniform,
    drawCell,
    pAndQ,
    siblings,
  };
  const siblingRules = { sequential, specinfer: sequential, lenience, kseq };
  return { quote, ruleParts, siblingRules };
})(SpecViz);
Object.assign(SpecViz, siblingRules);
