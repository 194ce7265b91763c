/* The moment on the screen: everything the panels of a player may draw from. */
// needs: bytes, declared, distributions, guess, numbers, picture, rejudge, rejudging, state, words
const moment = (function (S) {
  "use strict";

  const { END } = S;

  /** Trace, cursor, selection and what follows from them. A selection that is not there yet becomes the subject of the
      beat. */
  function moment(own) {
    const round = own.trace.rounds[own.cursor.round];
    if (!own.labels || own.labels.round !== round)
      own.labels = { round, names: S.nodeLabels(own.trace, own.cursor.round) };
    const names = own.labels.names;
    const cursor = S.guessCursor(own); // one beat earlier while a verdict is asked
    const at = S.guessView(own, S.view(round, cursor.beat));
    const states = S.nodeStates(round, at, S.keepsSurvivors(own.trace, round));
    const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial]));
    const said = new Set(round.judged.trials.slice(0, at.trials).map((trial) => trial.node));
    const stateOf = (id) =>
      id === END ? (at.drawn ? (S.endsText(round) ? "behind" : round.judged.origin) : "hidden") : states[id];
    if (stateOf(own.selected) === undefined || stateOf(own.selected) === "hidden") own.selected = S.subject(round, at);
    const nameOf = (id) => {
      const node = id === END ? null : round.nodes[id];
      const odds = node && node.id > 0 ? S.oddsWords(round, node, S.told(at)) : "";
      const parent = id === END ? round.judged.final_node : node.parent;
      const after = parent < 0 ? "" : `, after ${names[parent]}`;
      const change = changes.has(id) ? `, ${S.CHANGES[changes.get(id)].words}` : "";
      return S.spoken(`${names[id]}, ${S.FATES[stateOf(id)]}${odds}${change}${decided(id)}${after}`);
    };
    const tokenOf = (id) => (id === END ? round.judged.token : round.nodes[id].token);
    const decided = (id) => (S.isGrounded(own.trace, tokenOf(id)) ? `, ${S.DECIDED}` : "");
    const rejudged = own.moved && at.drawn ? S.rejudge(own.trace, round, own.moved) : null;
    const changes = new Map(
      rejudged ? [...rejudged.all.values()].filter(S.changeOf).map((one) => [one.node, S.changeOf(one)]) : [],
    );
    return {
      ...own,
      own,
      asked: cursor !== own.cursor,
      cursor,
      round,
      at,
      labels: names,
      stateOf,
      nameOf,
      rejudged,
      changes,
      trialOf: (id) => trials.get(id),
      judged: (id) => said.has(id),
    };
  }

  return { moment };
})(SpecViz);
Object.assign(SpecViz, moment);
