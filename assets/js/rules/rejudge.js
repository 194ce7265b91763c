/* A recorded round judged again under other settings, from what its trace stores: a counterfactual for this round
   alone, with the same candidates and the same uniform draws. A verdict that the stored top-k rows do not settle stays
   untold. Pure. Settings are {temperature, topK (0: off), topP (1: off), gamma (null:
   as drafted), lenience}. */
// needs: bounds, declared, numbers
const rejudge = (function (S) {
  "use strict";

  const FORGIVING = "lenience"; // at l = 1 the exact rule
  const EXACT = (value) => [value, value];
  /** @param {trace.Round} round */
  const children = (round, parent, gamma) =>
    round.nodes.filter((node) => node.parent === parent && (gamma === null || node.depth <= gamma));

  /** The settings a run was recorded under.
      @param {trace.Trace} trace */
  function recorded(trace) {
    const { sampling, verifier } = trace.started;
    return {
      temperature: sampling.temperature,
      topK: sampling.top_k,
      topP: sampling.top_p,
      gamma: null,
      lenience: verifier.name === "lenience" ? verifier.options.lenience : 1,
    };
  }

  const sameSampling = (one, other) =>
    one.temperature === other.temperature && one.topK === other.topK && one.topP === other.topP;
  const sameSettings = (one, other) =>
    sameSampling(one, other) && one.gamma === other.gamma && one.lenience === other.lenience;
  /** @param {trace.Round} round */
  const canRejudge = (round) => !!S.declared(round.judged.rule)?.one_by_one && round.judged.trials.length > 0;
  /** @param {trace.Round} round */
  const storedTop = (round) => Math.max(0, ...round.nodes.map((node) => (node.target_raw || node.target).probs.length));

  /** Everything about a round that judging it again needs.
      @param {trace.Trace} trace @param {trace.Round} round */
  function sceneOf(trace, round, settings) {
    const before = recorded(trace);
    const { target, drafter } = trace.started;
    return {
      round,
      settings,
      before,
      same: sameSampling(settings, before),
      plain: before.temperature === 1 && before.topK === 0 && before.topP === 1,
      uncut: before.topK === 0 && before.topP === 1,
      sizes: { target: target.vocab_size, draft: (drafter.model || target).vocab_size },
      trials: new Map(round.judged.trials.map((trial) => [trial.node, trial])),
    };
  }

  /** A model's own distribution at a node (`which` is target or draft), where the trace has it. */
  const ownRow = (scene, node, which) => node[`${which}_raw`] || (scene.plain ? node[which] : null);

  /** What is known of the distribution behind a node's children under the new settings. */
  function spreadAt(scene, node, which) {
    const { temperature, topK, topP } = scene.settings;
    const head = node[which];
    const below = scene.round.nodes.filter(
      (child) => child.parent === node.id && (which === "target" || child.kind !== "point_mass"),
    );
    if (which === "draft" && new Set(below.map((child) => child.source)).size > 1) return S.nothingKnown();
    /** @type {Map<number, number>} */
    const beside = new Map(below.map((child) => [child.token, child[`${which}_prob`]]));
    if (scene.same) return head ? S.asStored(head, beside) : S.nothingKnown();
    const warm = scene.before.temperature;
    const outside = (list) => [...beside].filter(([token]) => !list.tokens.includes(token));
    const found = [];
    const raw = ownRow(scene, node, which);
    if (raw)
      found.push(
        S.reshaped(
          raw,
          new Map(outside(raw).flatMap(([token, value]) => unseen(raw, head, token, value, warm))),
          scene.sizes[which],
          1 / temperature,
          topK,
          topP,
        ),
      );
    if (head && scene.uncut && warm > 0)
      found.push(
        S.reshaped(
          head,
          new Map(outside(head).map(([token, value]) => [token, S.around(value)])),
          scene.sizes[which],
          warm / temperature,
          topK,
          topP,
        ),
      );
    return S.together(found);
  }

  /** What a token outside a raw head has there: its recorded probability, taken back to temperature 1 beside the
     first choice.
      @returns {[token: number, range: Interval][]} */
  function unseen(raw, head, token, value, warm) {
    const first = head && warm > 0 ? head.tokens.indexOf(raw.tokens[0]) : -1;
    const [low, high] = S.around(value);
    if (first < 0 || low <= 0) return [];
    const [least, most] = S.around(head.probs[first]),
      [bottom, top] = S.around(raw.probs[0]);
    return [[token, [bottom * (low / most) ** warm, top * (high / least) ** warm]]];
  }

  /** The target's first choice and a token's share of it, at temperature 0: {hit: interval, share: interval}. */
  function coldly(scene, parent, child) {
    const raw = ownRow(scene, parent, "target"),
      trial = scene.trials.get(child.id),
      list = raw || parent.target;
    const stored = scene.same && trial ? (trial.terms || {}).share : undefined;
    const tied = list.tokens.filter((_, place) => list.probs[place] === list.probs[0]);
    const firsts = scene.before.temperature === 0 ? parent.target.tokens.slice(0, 1) : tied;
    const hit = !firsts.length ? [0, 1] : !firsts.includes(child.token) ? [0, 0] : firsts.length > 1 ? [0, 1] : [1, 1];
    if (stored !== undefined) return { hit, share: EXACT(stored) };
    if (!raw || !raw.probs.length) return { hit, share: hit };
    const [low, high] = S.probAt(S.asStored(raw, new Map()), child.token),
      [least, most] = S.around(raw.probs[0]);
    return { hit, share: hit[0] === 1 ? [1, 1] : [low / most, Math.min(1, high / least)] };
  }

  /** Whether the rule asks nothing of this candidate, because the target proposed it. */
  const given = (scene, child) =>
    child.source === "target" && Object.hasOwn(S.declared(scene.round.judged.rule).terms, "given");

  /** One candidate under the new settings: p, q and its probability as intervals. `p` is what rejections leave of the
      target. */
  function judged(scene, parent, child, p, gone) {
    const { temperature, lenience } = scene.settings;
    const trial = scene.trials.get(child.id);
    if (given(scene, child))
      return {
        p: S.probAt(p(), child.token),
        q: null,
        acceptance: S.thresholdOf(scene.round.judged.rule, { given: [1, 1] }),
        draws: false,
      };
    if (temperature === 0) {
      const { hit, share } = coldly(scene, parent, child);
      return {
        p: hit,
        q: null,
        share: lenience < 1 ? share : null,
        acceptance: lenience < 1 ? S.thresholdOf(FORGIVING, { share, lenience: EXACT(lenience) }) : hit,
        draws: false,
      };
    }
    const exact = scene.same && trial;
    const first = scene.same && !gone.length;
    const own = exact ? EXACT(trial.target_prob) : first ? S.around(child.target_prob) : S.probAt(p(), child.token);
    const draft =
      child.kind === "point_mass"
        ? [1, 1]
        : exact
          ? EXACT(trial.draft_prob)
          : S.probAt(proposal(scene, parent, child, gone), child.token);
    return {
      p: own,
      q: draft,
      acceptance: S.thresholdOf(FORGIVING, { p: own, q: draft, lenience: EXACT(lenience) }),
      draws: true,
    };
  }

  /** Q of a drawn candidate: q, or without replacement q without the rejected siblings of the same draw. */
  function proposal(scene, parent, child, gone) {
    const q = spreadAt(scene, parent, "draft");
    const taken =
      child.kind === "without_replacement"
        ? gone.filter((other) => other.kind === child.kind && other.source === child.source).map((other) => other.token)
        : [];
    return taken.length ? S.withoutTokens(q, taken) : q;
  }

  const was = (scene, id) =>
    scene.trials.has(id) ? (scene.trials.get(id).accepted ? "accepted" : "rejected") : "untried";

  /** accepted, rejected or untold, and why it is untold: `bounds` (the head is too short) or `undrawn` (no number was
      drawn). */
  function verdict(scene, id, found, u) {
    const [low, high] = found.acceptance;
    if (scene.same && scene.settings.lenience === scene.before.lenience && scene.trials.has(id))
      return { now: was(scene, id) };
    if (low >= 1) return { now: "accepted" };
    if (high <= 0) return { now: "rejected" };
    if (!found.draws) return { now: "untold", why: "bounds" };
    if (u === null || u === undefined) return { now: "untold", why: "undrawn" };
    return u < low ? { now: "accepted" } : u >= high ? { now: "rejected" } : { now: "untold", why: "bounds" };
  }

  /** Every candidate again, in the order the rule asks. → Map node → {was, now, why, p, q, acceptance, u, …} */
  function judgeAll(scene) {
    const { gamma } = scene.settings;
    const all = new Map(
      scene.round.nodes
        .slice(1)
        .map((node) => [
          node.id,
          { node: node.id, was: was(scene, node.id), now: gamma !== null && node.depth > gamma ? "cut" : "untried" },
        ]),
    );
    const doubt = (node) => {
      // what is asked only if an untold verdict falls one way
      all.get(node.id).now = "untold";
      all.get(node.id).why = "before";
      children(scene.round, node.id, gamma).forEach(doubt);
    };
    const single = S.declared(scene.round.judged.rule).order === "longest";
    const visit = (parent) => {
      const gone = [];
      let left = null;
      const p = () => (left = left || spreadAt(scene, parent, "target"));
      let open = false;
      for (const child of children(scene.round, parent.id, gamma)) {
        if (open && !single) {
          doubt(child);
          continue;
        }
        const found = judged(scene, parent, child, p, gone);
        const u = (scene.trials.get(child.id) || {}).u ?? null;
        Object.assign(all.get(child.id), found, verdict(scene, child.id, found, u), { u });
        const { now } = all.get(child.id);
        if (now === "untold") {
          children(scene.round, child.id, gamma).forEach(doubt);
          open = true;
        }
        if (now === "accepted") {
          visit(child);
          if (!single) return;
        }
        if (now === "rejected" && !single) {
          if (scene.settings.temperature > 0)
            left = S.afterRejection(
              p(),
              child.kind === "point_mass" ? null : proposal(scene, parent, child, gone),
              child.token,
            );
          gone.push(child);
        }
      }
    };
    visit(scene.round.nodes[0]);
    return all;
  }

  /** What became of a node's verdict, as a mark: null where nothing did. */
  function change(one) {
    if (one.was === "untried")
      return one.now === "untried" || one.now === "cut" || one.why === "before" ? null : one.now;
    return one.now === one.was ? null : one.now;
  }

  /** How many tokens are accepted, null where that hangs on an untold verdict. */
  function reach(scene, all) {
    const passed = (id) => all.get(id).now === "accepted";
    if ([...all.values()].some((one) => one.now === "untold")) return null;
    return Math.max(
      0,
      ...scene.round.nodes
        .slice(1)
        .filter((node) => passed(node.id))
        .map((node) => node.depth),
    );
  }

  /** The round under `settings`; null where its rule cannot be judged again or nothing was tried.
      @param {trace.Trace} trace @param {trace.Round} round */
  function rejudge(trace, round, settings) {
    if (!canRejudge(round)) return null;
    const scene = sceneOf(trace, round, settings);
    const all = judgeAll(scene);
    const tried = [...all.values()].filter((one) => one.was !== "untried");
    const many = (wanted) => tried.filter(wanted).length;
    return {
      all,
      top: storedTop(round),
      trials: tried.length,
      accepted: [round.judged.path.length, reach(scene, all)],
      flips: many((one) => one.now !== one.was && (one.now === "accepted" || one.now === "rejected")),
      bounds: many((one) => one.now === "untold" && one.why === "bounds"),
      undrawn: many((one) => one.now === "untold" && one.why === "undrawn"),
      before: many((one) => one.now === "untold" && one.why === "before"),
      gone: many((one) => one.now === "untried"),
      cut: many((one) => one.now === "cut"),
      fresh: [...all.values()].filter((one) => one.was === "untried" && change(one)).length,
    };
  }

  const is = (n, words) => `${n} ${n === 1 ? "is" : "are"} ${words}`;

  /** The same in a sentence or two. */
  function rejudged(found) {
    const parts = [`${found.flips} of ${S.count(found.trials, "verdict")} ${found.flips === 1 ? "flips" : "flip"}`];
    if (found.bounds) parts.push(`${found.bounds} cannot be told from the stored top ${found.top}`);
    if (found.undrawn) parts.push(`${found.undrawn} cannot be told because no u was drawn`);
    if (found.before) parts.push(`${found.before} cannot be told because of one before`);
    if (found.gone) parts.push(is(found.gone, "no longer tried"));
    if (found.cut) parts.push(is(found.cut, "cut off"));
    if (found.fresh)
      parts.push(`${S.count(found.fresh, "candidate")} never tried ${found.fresh === 1 ? "is" : "are"} reached`);
    const [before, after] = found.accepted;
    return (
      `${parts.join("; ")}. Accepted candidates: ${before} recorded, ` +
      `${after === null ? "now not told" : `${after} now`}.`
    );
  }

  return { recorded, sameSettings, canRejudge, rejudge, rejudged, changeOf: change };
})(SpecViz);
Object.assign(SpecViz, rejudge);
