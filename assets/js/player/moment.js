/* The moment on the screen: everything the panels of a player may draw from. */
// needs: bytes, declared, distributions, guess, numbers, picture, rejudge, rejudging, state, wording
/** What a player shows; a panel draws nothing that does not follow from it.
    @typedef {object} PlayerState
    @property {number} id counted from 1 over the page's players
    @property {trace.Trace | null} trace
    @property {Cursor} cursor
    @property {NodeId} selected
    @property {{ position: number, count: number } | null} cited a place of the text that something was taken from
    @property {boolean} following whether it stays in the last round while the run grows
    @property {boolean} playing
    @property {number} speed of playing, as a factor
    @property {string} source the trace as text
    @property {{ round: trace.Round, names: any } | null} labels how the nodes of a round read
    @property {object | null} moved the settings under which rounds are judged again
    @property {boolean} guess whether verdicts are kept back until they are guessed
    @property {{ run: string, given: Map<string, Guess>, hands: boolean }} [sheet] the guesses on the run
    @property {string[]} hidden areas that are not shown, by name: "card", "counters", …
    @property {string[]} lit areas that are pointed at
    @property {{ words: string, rounds: number[] } | null} found rounds to step through
    @property {string} view "present" while the player fills the window
    @property {Record<string, () => void>} does what panels do at a key, by its name
    @property {boolean} alone while it moves without being asked, or stands where that has ended
    @property {{ speed: any, seconds: number } | null} race the whole run at its own speed
    @property {(name: string) => void} [run] does what a key does
    @property {() => boolean} [visible] */
/** @typedef {ReturnType<Names["moment"]>} Moment what is on the screen */
/** What a panel may do.
    @typedef {object} Act
    @property {() => Moment} now
    @property {(cursor: Cursor, motion?: boolean, node?: NodeId | null) => void} go
    @property {(id: NodeId, tapped?: boolean) => void} select
    @property {(round: number, node: NodeId) => void} visit a token's verdict
    @property {(name: string) => void} run what a key does
    @property {() => void} speed take the next one
    @property {() => void} draw
    @property {(place: { position: number, count: number }) => void} cite
    @property {(settings: object | null) => void} rejudge
    @property {(changes: Partial<PlayerState>) => void} set
    @property {(text: string) => void} say to those who listen
    @property {(nodes: number[]) => void} name point at nodes of the tree
    @property {((token: number) => void) | null} branch continue the run with another token */
/** @typedef {{ yes: number, no: number, closed: boolean, accepted?: boolean }} Guess the answers to one verdict */
/** @typedef {{ round: number, beat: number }} Cursor both counted from 0 */
/** @typedef {number | "end"} NodeId a node of the round's tree, or the round's last token */

const moment = (function (S) {
  "use strict";

  const { END } = S;
  let players = 0;

  /** @returns {PlayerState} of a player that has no run yet */
  const freshState = () => ({
    id: (players += 1),
    trace: null,
    cursor: { round: 0, beat: 0 },
    selected: 0,
    cited: null,
    following: false,
    playing: false,
    speed: 1,
    source: "",
    labels: null,
    moved: null,
    guess: false,
    hidden: [],
    lit: [],
    found: null,
    view: "",
    does: {},
    alone: false,
    race: null,
  });

  /** Trace, cursor, selection and what follows from them. A selection that is not there yet becomes the subject of the
      beat.
      @param {PlayerState} own */
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
      const odds = node && node.id > 0 ? S.oddsWords(own.trace, round, node, S.told(at)) : "";
      const parent = id === END ? round.judged.final_node : node.parent;
      const after = parent < 0 ? "" : `, after ${names[parent]}`;
      const change = changes.has(id) ? `, ${S.CHANGES[changes.get(id)].words}` : "";
      return S.spoken(`${names[id]}, ${S.fateWord(stateOf(id))}${odds}${change}${decided(id)}${after}`);
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

  return { freshState, moment };
})(SpecViz);
Object.assign(SpecViz, moment);
