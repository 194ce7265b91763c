/* The player: one cursor and one selection over a trace, and panels that draw them.
   `SpecViz.mount(element, props, watch, branch)` is all a page needs; `props.value` is the trace as JSON text, whole or
   still growing (`finished` null, every round so far). Nothing here asks a server to step. Whoever drives a player
   (a lesson, a link, an embedding page) finds its handle as `element.querySelector(".sv-player").specviz`. */
// needs: address, by_itself, caption, card, columns, counters, dom, exhibits, found, guess, headline, keys, lanes
// needs: moment, own_speed, pace, pass_rows, picture, pins, present, rejudge, rejudging, run_cache, share, state
// needs: text, timeline_panel, transport, tree, wording
const specviz = (function (S) {
  "use strict";

  const { h, END } = S;
  const MOTION_MS = 600;
  let active = null; // the player that the keys belong to

  function draw(player) {
    const { own } = player;
    const there = !!own.trace && own.trace.rounds.length > 0;
    player.empty.hidden = there;
    S.setText(player.empty, S.nothingToShow(own.trace));
    player.stage.hidden = !there;
    if (there) {
      const moment = player.act.now();
      player.root.dataset.phase = moment.at.phase;
      player.root.dataset.round = own.cursor.round;
      // Caption and tree read their width before anything is written, what scrolls does so last: one layout per step.
      const wide = player.caption.clientWidth;
      const scrolls = player.panels.map((panel) => panel(moment));
      const rounds = own.trace.rounds.length;
      const sentence = own.race
        ? S.ownWords(own.race.speed)
        : S.guessCaption(own) || S.sayMoment(own.trace, moment.round, moment.labels, moment.at);
      const head = `Round ${own.cursor.round + 1} of ${rounds}${own.trace.finished ? "" : " so far"}`;
      player.told.draw(own.trace, head, sentence, wide, own.alone); // nobody is told what nobody asked for
      for (const scroll of scrolls) if (scroll) scroll();
    }
    player.root.dataset.ready = "1";
    for (const watcher of player.watchers) watcher(player.handle);
  }

  function move(player) {
    player.root.dataset.motion = "1";
    clearTimeout(player.resting);
    player.resting = setTimeout(() => delete player.root.dataset.motion, MOTION_MS);
  }

  /** Go to a moment; the selection follows what happens there. `motion` is false while scrubbing.
      @param {Cursor} cursor */
  function go(player, cursor, motion = true, node = null) {
    const { own } = player;
    if (!own.trace || !own.trace.rounds.length) return;
    own.cited = null;
    own.cursor = S.clamp(own.trace, { round: cursor.round, beat: cursor.beat === Infinity ? 1e6 : cursor.beat });
    const round = own.trace.rounds[own.cursor.round];
    own.selected = node ?? S.subject(round, S.view(round, own.cursor.beat));
    own.following = !own.trace.finished && own.cursor.round === own.trace.rounds.length - 1;
    if (motion) move(player);
    draw(player);
  }

  /** Choose a node; where it was `tapped`, its card comes into view. */
  function select(player, id, tapped = false) {
    const { own } = player;
    own.selected = id;
    draw(player);
    if (tapped && own.view !== "present") player.card.scrollIntoView({ block: "nearest" });
  }

  /** Show a place of the text that something was taken from: {position, count} in tokens. */
  function cite(player, place) {
    player.own.cited = place;
    draw(player);
  }

  /** Judge rounds again under other settings; the recorded ones are none. */
  function rejudge(player, settings) {
    const { own } = player;
    own.moved = settings && !S.sameSettings(settings, S.recorded(own.trace)) ? settings : null;
    draw(player);
  }

  /** From a token in the text to the verdict that put it there. */
  function visit(player, index, node) {
    const { own } = player;
    const round = own.trace.rounds[index];
    if (index === own.cursor.round) return select(player, node);
    const beats = S.beats(round);
    const tried = beats.findIndex((beat) => beat.trial !== undefined && round.judged.trials[beat.trial].node === node);
    // A rule that judges whole paths tries no node inside one: what put those there is the end of the round.
    const at = tried >= 0 ? tried : beats.findIndex((beat) => beat.drawn);
    go(player, { round: index, beat: at }, true, node);
  }

  function play(player, on) {
    player.own.playing = on;
    if (on) player.pace.start();
    else player.pace.stop();
  }

  function speed(player) {
    const { own } = player;
    own.speed = S.SPEEDS[(S.SPEEDS.indexOf(own.speed) + 1) % S.SPEEDS.length];
    if (own.playing) play(player, true);
    draw(player);
  }

  function run(player, name) {
    const { own } = player;
    active = own;
    if (name === "help") return player.help.open ? player.help.close() : player.help.showModal();
    if (!own.trace || !own.trace.rounds.length) return;
    if (own.does[name]) return own.does[name]();
    if (player.alone.stop() && name === "play") return draw(player); // a pause
    if (name === "ownSpeed") return ownSpeed(player);
    if (name === "fit") return player.tree.fit();
    if (name === "present") return set(player, { view: own.view === "present" ? "" : "present" });
    if (S.guessRun(own, name, player.act)) return;
    if (name === "play") {
      if (!own.playing && S.step(own.trace, own.cursor, 1) === own.cursor) go(player, { round: 0, beat: 0 });
      play(player, !own.playing);
      return draw(player);
    }
    play(player, false);
    const found = S.jump(own.trace, own.cursor, name);
    if (found) go(player, found);
    else
      say(
        player,
        `no ${name.startsWith("next") ? "later" : "earlier"} ${name.endsWith("Bonus") ? "bonus" : "rejection"}`,
      );
  }

  function ownSpeed(player) {
    play(player, false);
    if (player.own.guess || !player.alone.race()) say(player, "no plain decoding was timed beside this run");
  }

  function say(player, text) {
    S.setText(player.note, text);
    player.told.announce(text);
    setTimeout(() => {
      if (player.note.textContent === text) S.setText(player.note, "");
    }, 3000);
  }

  /** What a screen around the player may change of how it shows: any of {guess, hidden, lit, found, view}. */
  function set(player, changes) {
    const { own } = player;
    Object.assign(own, changes);
    if (own.guess) play(player, false);
    player.root.dataset.guess = own.guess ? "1" : "";
    player.root.dataset.hidden = own.hidden.join(" ");
    player.root.dataset.lit = own.lit.join(" ");
    player.present.set(own.view === "present");
    draw(player);
  }

  /** Calls `watcher(handle)` after each drawing; returns what ends that. */
  function subscribe(player, watcher) {
    player.watchers.add(watcher);
    return () => player.watchers.delete(watcher);
  }

  /** A new text arrived: another run, or the same one grown. */
  function load(player, source = player.props.value || "") {
    const { own } = player;
    if (source === own.source) return;
    player.alone.stop();
    const before = own.trace;
    own.source = source;
    own.trace = source ? S.readTrace(source) : null;
    own.labels = null;
    if (!own.trace || !own.trace.rounds.length) {
      play(player, false);
      return draw(player);
    }
    S.showProvenance(player);
    const same =
      before &&
      before.rounds.length &&
      before.started.run_id === own.trace.started.run_id &&
      before.rounds.length <= own.trace.rounds.length;
    const asked = S.momentOf(own.trace, !before);
    if (!asked && same && !own.following) return go(player, own.cursor, false, own.selected);
    const start =
      asked ||
      (own.trace.finished && !same
        ? { round: S.firstDraft(own.trace), beat: 0, node: null }
        : { round: own.trace.rounds.length - 1, beat: Infinity, node: null });
    if (!same) {
      play(player, false);
      own.moved = null;
      own.found = null;
    }
    const exists = start.node === END || own.trace.rounds[S.clamp(own.trace, start).round].nodes[start.node];
    go(player, start, false, exists ? start.node : null);
  }

  /** The areas and the panels in them, in the order of the eye, which is that of Tab: what happens, play, the tree, the
      card.
      @param {Act} act */
  function layPanels(player, act, withBadge) {
    const { stage, root, own } = player;
    const area = (name, attributes = {}) => stage.appendChild(h("section", { class: `svp-${name}`, ...attributes }));
    const badge = withBadge ? area("badge", { "aria-label": "where this run comes from" }) : null;
    const strip = area("text", { "aria-label": "text" });
    const text = S.textPanel(strip, act);
    const caption = area("caption", { "aria-label": "what happens" });
    const told = S.captionPanel(caption);
    const transport = area("transport", { "aria-label": "transport" });
    const tree = S.treePanel(area("draft", { "aria-label": "draft tree" }), act);
    const card = area("card", { "aria-label": "selected node" });
    const onCard = [S.cardPanel(card, act), S.columnsPanel(card, act), S.rejudgePanel(card, act)];
    const bars = S.ownSpeedPanel(transport, root);
    const onTransport = [S.transportPanel(transport, act), S.foundPanel(transport, act), bars];
    const exhibits = S.exhibitsPanel(area("exhibits", { "aria-label": "what the drafter knew" }), act);
    const costs = costPanels(area("costs", { "aria-label": "what it cost" }), act);
    const counters = S.countersPanel(area("counters", { "aria-label": "counters of the run" }), act);
    const note = h("span", { class: "svp-small" });
    area("tools").append(
      S.shareMenu({ now: act.now, source: () => own.source, root, say: (words) => say(player, words) }),
      h("button", { type: "button", class: "svp-link", onclick: () => run(player, "help") }, "keys"),
      note,
    );
    const inCard = [tree.draw, text, S.picturePanel(strip), ...onCard];
    S.followWording(() => S.showProvenance(player));
    const onStage = [S.guessPanel, S.pinsPanel, S.wordingPanel].map((panel) => panel(stage, act, own));
    const panels = [...inCard, ...onTransport, exhibits, ...costs, counters, ...onStage];
    return { badge, caption, told, tree, card, bars, note, panels };
  }

  /** @param {Act} act */
  function costPanels(costs, act) {
    const cell = (name) => costs.appendChild(h("div", { class: `svp-${name}` }));
    const clocks = [
      S.cachePanel(cell("cache"), act),
      S.timePanel(cell("timing")),
      S.timelinePanel(cell("timeline"), act),
    ];
    const more = cell("more");
    return [...clocks, S.passPanel(more, act), S.runCachePanel(more, act)];
  }

  /** Plays the run beat by beat, up to its end. */
  function runPacer(player) {
    const { own } = player;
    return S.pacer({
      caption: () => player.caption.lastChild.textContent,
      captions: () => S.sentences(own.trace, own.cursor.round),
      speed: () => own.speed,
      next: () => {
        const next = S.step(own.trace, own.cursor, 1);
        if (next === own.cursor) return own.trace.finished ? null : false;
        go(player, next);
        return true;
      },
      ended: () => {
        play(player, false);
        draw(player);
      },
    });
  }

  /** The keys belong to the player that was pressed last; to the only one that is seen where that is hidden. */
  function listen(player) {
    const { root, own } = player;
    root.addEventListener("pointerdown", () => {
      active = own;
    });
    document.addEventListener("keydown", (event) => {
      if (!root.isConnected || !own.visible() || event.defaultPrevented || S.taken(event)) return;
      if (active && active !== own && active.visible()) return;
      const name = S.guessKey(own, event) || S.command(event, own.view === "present");
      if (!name) return;
      event.preventDefault();
      run(player, name);
    });
  }

  /** What others drive a player by; who does takes over from a player that moves by itself. */
  function handleOf(player) {
    const { root, own } = player;
    const asked =
      (does) =>
      (...given) => {
        player.alone.stop();
        return does(player, ...given);
      };
    return {
      root,
      go: asked(go),
      run: (name) => run(player, name),
      select: asked(select),
      set: asked(set),
      subscribe: (watcher) => subscribe(player, watcher),
      load: (source) => load(player, source),
      get trace() {
        return own.trace;
      },
      get cursor() {
        return own.cursor;
      },
      get selected() {
        return own.selected;
      },
      get guessScore() {
        return S.guessScore(own);
      },
      get guessCounted() {
        return S.guessCounted(own);
      },
      get view() {
        return own.view;
      },
      get alone() {
        return own.alone;
      },
    };
  }

  /** What panels may do; `branch` where another run can be made from here. */
  function actionsOf(player, branch) {
    const { own } = player;
    const does =
      (action) =>
      (...given) =>
        action(player, ...given);
    return {
      now: () => S.moment(own),
      go: does(go),
      select: does(select),
      visit: does(visit),
      run: does(run),
      speed: does(speed),
      draw: does(draw),
      cite: does(cite),
      rejudge: does(rejudge),
      set: does(set),
      say: (text) => player.told.announce(text),
      name: (nodes) => player.tree.name(nodes),
      branch: branch ? (token) => branch({ round: own.cursor.round, node: own.selected, token }) : null,
    };
  }

  function mount(element, props, watch, branch) {
    const root = element.querySelector(".sv-player") || element.appendChild(h("div", { class: "sv-player" }));
    const own = S.freshState();
    const player = {
      root,
      props,
      own,
      stage: h("div", { class: "svp" }),
      empty: h("p", { class: "svp-empty" }),
      help: S.helpDialog(),
      watchers: new Set(), // called after each drawing
      resting: 0,
    };
    root.append(player.empty, player.stage, player.help);
    player.act = actionsOf(player, branch);
    Object.assign(player, layPanels(player, player.act, props.badge));
    player.pace = runPacer(player);
    player.alone = S.byItself({
      root,
      own,
      caption: () => player.caption.lastChild.textContent,
      go: (cursor) => go(player, cursor),
      draw: () => draw(player),
      race: () => player.bars({ race: own.race }),
    });
    const leave = () => set(player, { view: "" });
    player.present = S.presenter(root, () => own.trace && draw(player), leave);
    own.run = (name) => run(player, name);
    own.visible = () => root.getClientRects().length > 0;
    listen(player);
    const handle = handleOf(player);
    player.handle = handle;
    root.specviz = handle;
    if (watch) watch("value", () => load(player));
    begin(player, props.compact);
    return handle;
  }

  /** Show the run and the moment that the address asks for; the first player of a page may move by itself. */
  function begin(player, small) {
    const { root, own, handle } = player;
    const compact = small || new URLSearchParams(location.search).has("embed");
    root.dataset.compact = compact ? "1" : "";
    load(player);
    set(player, { view: S.asksToPresent(location.search) ? "present" : "" });
    S.headline(root, handle);
    S.follow(handle);
    const { search, hash, href } = location;
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const embedded = compact || href === "about:srcdoc"; // a notebook's frame
    if (S.mayBegin({ first: own.id === 1, embedded, reduced, search, hash })) player.alone.open();
  }

  return { mount };
})(SpecViz);
Object.assign(SpecViz, specviz);
