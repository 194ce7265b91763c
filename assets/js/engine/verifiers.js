/* Verifiers of the browser's engine: the walks of specviz/verifiers, with the acceptance probabilities that the rules
   declare (assets/rules.json), evaluated as the player evaluates them. Here those from the root down; pure. */
// needs: candidates, path_verifiers, sampling
const verifiers = (function (S) {
  "use strict";

  const { sampling } = S;
  const { ending, declaredThreshold, tried, undrawn, drawnFrom } = S.judging;

  /** From the root down, one candidate after the other; `judge` gives a node's trial, `end` the verdict at the node
      where all were rejected, `children` the candidates, where they are others than the node's own.
      @param {Case} asked */
  function walk(asked, level) {
    const { tree } = asked;
    const path = [];
    const trials = [];
    for (let node = 0; ;) {
      const { judge, end, children = tree.children(node) } = level(node, path.length);
      let accepted = null;
      for (const child of children) {
        trials.push(judge(child));
        if (trials.at(-1).accepted) {
          accepted = child;
          break;
        }
      }
      if (accepted === null) {
        const shared = { path, trials, residual: null, mass: null, u: null, order: "top_down" };
        return { ...shared, origin: ending(tree, children), ...end() };
      }
      node = accepted;
      path.push(node);
    }
  }

  /** Exact match with the largest logit; temperature 0 alone. */
  const greedy = (asked) =>
    walk(asked, (node) => {
      const best = asked.target.argmax(node);
      const judge = (child) => {
        const hit = asked.tree.tokens[child] === best;
        const p = Number(hit);
        const threshold = declaredThreshold(asked.rule, { p });
        return undrawn(asked.tree, child, p, threshold, hit);
      };
      return { judge, end: () => ({ token: best }) };
    });

  /** Draw the target's own token, then look whether a child has it. */
  const naive = (asked) =>
    walk(asked, (node, depth) => {
      const { token, u } = asked.randomness.draw(asked.target.probs(node), ["target", asked.position + depth, 0]);
      const judge = (child) => {
        const p = asked.target.candidateProb(child);
        const threshold = declaredThreshold(asked.rule, { p });
        const accepted = asked.tree.tokens[child] === token;
        return undrawn(asked.tree, child, p, threshold, accepted);
      };
      return { judge, end: () => ({ token, u }) };
    });

  /** Siblings one after the other, each against what the earlier ones have left of the target. */
  const sequential = (asked) =>
    walk(asked, (node, depth) => {
      const { tree, target } = asked;
      const rejected = [];
      let [left, mass] = [null, null];
      const whole = () => (left ??= target.probs(node));
      const judge = (child) => {
        const token = tree.tokens[child];
        const proposal = drawnFrom(tree, child, rejected);
        const p = rejected.length ? whole()[token] : target.candidateProb(child);
        const coldly = asked.rule === "lenience" && target.greedy;
        const terms = coldly ? { share: target.shareOfBest(child) } : {};
        const trial = tried(asked, child, p, proposal === null ? 1 : proposal[token], terms);
        if (!trial.accepted) {
          rejected.push(child);
          const taken = proposal === null ? sampling.without(whole(), [token]) : sampling.residual(whole(), proposal);
          [left, mass] = taken[1] > 0 ? taken : [whole(), 0];
        }
        return trial;
      };
      const end = () => {
        const { token, u } = asked.randomness.draw(whole(), ["target", asked.position + depth, 0]);
        return { token, u, mass, residual: mass === null ? null : left };
      };
      return { judge, end };
    });

  const HALVINGS = 52; // of an interval no longer than the number of siblings: down to the last bit of rho
  const anyOf = (chance, times) => 1 - (1 - chance) ** times;

  /** ρ with 1 − (1 − β)ᴷ = ρ β for K candidates from q, by bisection, and β = Σ min(p / ρ, q).
      @param {Float32Array} p @param {Float32Array} q */
  function solve(p, q, siblings) {
    const betaOf = (rho) =>
      Math.min(
        1,
        p.reduce((sum, value, id) => sum + Math.min(value / rho, q[id]), 0),
      );
    const serves = (rho) => anyOf(betaOf(rho), siblings) <= rho * betaOf(rho);
    let [low, high] = [1, siblings];
    if (serves(low)) high = low;
    for (let turn = 0; turn < HALVINGS && low < high; turn++) {
      const middle = (low + high) / 2;
      if (serves(middle)) high = middle;
      else low = middle;
    }
    return { rho: high, beta: betaOf(high) };
  }

  /** norm(p − min(p / ρ, q) (1 − (1 − β)ᴷ) / β) and its mass; p with mass 0 where nothing is left.
      @param {Float32Array} p @param {Float32Array} q @returns {[Float32Array, number]} */
  function unserved(p, q, { rho, beta }, siblings) {
    if (beta <= 0) return [p, 1];
    const share = anyOf(beta, siblings) / beta;
    const left = Float64Array.from(p, (value, id) => Math.max(0, value - Math.min(value / rho, q[id]) * share));
    const mass = left.reduce((sum, value) => sum + value, 0);
    return mass > 0 ? [Float32Array.from(left, (value) => value / mass), mass] : [p, 0];
  }

  /** K i.i.d. siblings, each judged alike against the whole target; drafts that share the accepted token all go on. */
  const kseq = (asked) =>
    walk(asked, (node, depth) => {
      const { tree, target, options } = asked;
      const rows = tree.rows();
      const beyond = [...tree.tokens.keys()].slice(1);
      const children = options.survivors
        ? beyond.filter((child) => rows[tree.parents[child]] === rows[node])
        : tree.children(node);
      const [p, q] = [target.probs(node), children.length ? tree.proposals[children[0]] : null];
      const terms = q && solve(p, q, children.length);
      const judge = (child) => tried(asked, child, target.candidateProb(child), tree.proposalProb(child), terms);
      const end = () => {
        const [residual, mass] = q ? unserved(p, q, terms, children.length) : [null, null];
        const { token, u } = asked.randomness.draw(residual ?? p, ["target", asked.position + depth, 0]);
        return { token, u, residual, mass };
      };
      return { judge, end, children };
    });

  const { block, traversal, longest, typical } = S.pathWalks;
  const TOP_DOWN = { greedy, naive, sequential, specinfer: sequential, lenience: sequential, kseq };
  const WALKS = { ...TOP_DOWN, block, traversal, longest_path: longest, typical };

  /** @param {Case} asked @returns {Verdict} */
  const judgeTree = (asked) => WALKS[asked.rule](asked);
  const judgedHere = (rule) => Object.hasOwn(WALKS, rule);

  return { judgeTree, judgedHere };
})(SpecViz);
Object.assign(SpecViz, verifiers);
