/* Plain or technical words: one switch for every explanation on the page. What is said in either is where it is said:
   titles and labels in plain_names.js, symbols in plain_numbers.js, moments in plain_words.js and words.js, tasks and
   mistakes of written rules in assets/written_rules.json, each exhibit in its own script. A link may carry the choice
   (`words=plain`). */
// needs: address, dom, plain_names, plain_numbers, plain_words, rules, words
const wording = (function (S) {
  "use strict";

  const KINDS = ["technical", "plain"];
  const watchers = new Set();
  let plain = null; // not read yet

  /** Whether explanations are in plain words. */
  function isPlain() {
    if (plain === null) plain = S.memory.get("wording", "") === "plain";
    return plain;
  }

  /** Choose one of "plain" and "technical" for the whole page; anything else changes nothing. */
  function setWording(kind, remember = true) {
    if (!KINDS.includes(kind) || isPlain() === (kind === "plain")) return;
    plain = kind === "plain";
    if (remember) S.memory.set("wording", kind);
    for (const each of document.querySelectorAll("[data-words]")) S.setText(each, word(each.dataset.words));
    for (const each of document.querySelectorAll("[data-words-label]"))
      S.set(each, "aria-label", word(each.dataset.wordsLabel));
    for (const watcher of watchers) watcher();
  }

  /** The other words. */
  const turnWording = () => setWording(isPlain() ? "technical" : "plain");

  /** A title, heading or label of plain_names.js in the words that were chosen; what is not listed is as it is.
      @param {string} technical */
  const word = (technical) => (isPlain() ? (S.PLAIN_NAMES[technical] ?? technical) : technical);

  /** `target` for the bundled target of that name, as `in_role` in Python. */
  const inRole = (role, name) => (name === role ? word(role) : `${word(role)} ${name}`);

  /** What became of a node, in the words that were chosen. */
  const fateWord = (fate) => word(S.FATES[fate]);

  /** What a number of the card says, in the words that were chosen: a row is its symbol, its value, what it is, and on
      request the same in plain words, where the symbol alone does not tell.
      @param {string[]} row */
  const sayNumber = ([symbol, , note, plain]) => (isPlain() ? (plain ?? S.PLAIN_NUMBERS[symbol] ?? note) : note);

  /** The same as attributes of an element, which then follows the switch: its text, or its name for readers.
      @param {string} technical @param {"text" | "aria-label"} which */
  const worded = (technical, which = "text") =>
    which === "text"
      ? { "data-words": technical, text: word(technical) }
      : { "data-words-label": technical, "aria-label": word(technical) };

  /** Of data with a `plain` part beside it, what was chosen.
      @template T @param {T & { plain: object }} both @returns {T} */
  const inWords = (both) => (isPlain() ? { ...both, ...both.plain } : both);

  /** Calls `watcher()` whenever the words change; returns what ends that. */
  function followWording(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  /** The sentence for where the cursor stands, in the words that were chosen.
      @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  const sayMoment = (trace, round, labels, at) => (isPlain() ? S.plainCaption : S.caption)(trace, round, labels, at);

  /** What became of a guess, in the words that were chosen.
      @param {Facts} facts */
  const sayVerdict = (facts) => (isPlain() ? S.plainVerdict(facts) : S.ruleOf(facts.round).words(facts));

  /** That a node counts nowhere, and why one was unreached, in the words that were chosen.
      @param {trace.Round} round */
  const sayAside = (round, id) => (isPlain() ? S.plainAside : S.aside)(round, id);
  /** @param {trace.Trace} trace @param {trace.Round} round */
  const sayUnreached = (trace, round, labels, id) =>
    (isPlain() ? S.plainUnreached : S.unreached)(trace, round, labels, id);

  /** Whichever of two wordings was chosen. */
  const say = (technical, plain) => (isPlain() ? plain : technical);

  /** How the round's last token came about, in the words that were chosen.
      @param {trace.Round} round */
  const sayEnding = (round, labels) => (isPlain() ? S.plainEnding : S.ending)(round, labels);

  /** The switch among the player's tools; a link's choice counts for this visit alone.
      @param {Act} act @param {PlayerState} own */
  function wordingPanel(stage, act, own) {
    const button = S.h("button", { type: "button", class: "svp-link svp-wording", onclick: turn });
    stage.querySelector(".svp-tools").append(button);
    own.does.wording = turn;
    S.openLinks((fields) => setWording(fields.words, false));
    followWording(() => {
      act.draw();
      S.setAddress({ words: isPlain() ? "plain" : "" });
    });

    function turn() {
      turnWording();
      act.say(isPlain() ? "plain words" : "technical words");
    }

    return function draw() {
      S.setText(button, isPlain() ? "in technical words" : "in plain words");
      S.set(button, "aria-pressed", isPlain());
    };
  }

  return {
    isPlain,
    setWording,
    turnWording,
    followWording,
    word,
    inRole,
    fateWord,
    sayNumber,
    worded,
    inWords,
    say,
    sayMoment,
    sayVerdict,
    sayAside,
    sayUnreached,
    sayEnding,
    wordingPanel,
  };
})(SpecViz);
Object.assign(SpecViz, wording);
