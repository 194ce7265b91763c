/* Lessons: their list, the open lesson, and how it drives the player.
   `SpecViz.mountLearn(element, {data, load, player, live, gather, button})` is all a page needs; with `button` false no
   button opens the list, and `SpecViz.showLessons(element)` draws it as cards: `data` the resolved lessons as
   JSON text, `load(file)` what shows a recorded run in the player, `player()` the player's element, `live` false where
   no run can be made, `gather(files)` what asks for runs as text (`keep` takes them). Others reach it as
   `SpecViz.lesson`: data, open(id, beat), state(), leave(), next(), back(), subscribe(fn), whole(); a beat is counted
   from 0, `state()` is {id, beat}, or null while no lesson is open. */
// needs: address, dom, exercises, lesson_panel, lesson_state, live_checks, numbers, own_run, wording
const lesson = (function (S) {
  "use strict";

  const ASK_AGAIN_MS = 1500;
  const { h } = S;
  const CLEAR = { guess: false, hidden: [], lit: [] };

  const filesOf = (lesson) => [...new Set(Object.values(lesson.runs).map((run) => run.file))];

  const handle = (learning) => learning.player()?.specviz;

  const beat = (learning) => learning.open.lesson.beats[learning.open.place];

  function press(learning) {
    if (learning.open && !learning.panel.box.getClientRects().length) return showPlayer(learning, "start");
    const dialog = (learning.element.closest(".gradio-container") || document.body).appendChild(
      S.lessonList(learning.data, learning.progress, (id, place) => {
        dialog.close();
        start(learning, id, place);
      }),
    );
    dialog.showModal();
  }

  /** Begin a lesson at a beat (from 0); false where there is no such lesson. */
  function start(learning, id, place = 0) {
    const lesson = learning.data.lessons.find((one) => one.id === id);
    if (!lesson || !handle(learning)) return false;
    const files = filesOf(lesson).filter((file) => !learning.texts.has(file));
    if (files.length && learning.options.gather) learning.options.gather(files);
    if (handle(learning).trace && !learning.asked.has(handle(learning).trace.started.run_id))
      learning.own.fill(handle(learning).trace.started);
    if (learning.unsubscribe) learning.unsubscribe();
    learning.player().prepend(learning.panel.box);
    learning.unsubscribe = handle(learning).subscribe(() => arrived(learning));
    learning.open = { lesson, fresh: true };
    show(learning, Math.max(0, Math.min(Math.trunc(place) || 0, lesson.beats.length - 1)));
    showPlayer(learning, "start"); // at the window's top, so that play is in it
    learning.panel.focus();
    return true;
  }

  function leave(learning) {
    if (!learning.open) return;
    learning.open = null;
    learning.waiting = null;
    learning.unsubscribe();
    learning.unsubscribe = null;
    learning.panel.box.remove();
    handle(learning)?.set(CLEAR);
    const left = learning.learn.isConnected ? learning.learn : document.querySelector("[role=tab][aria-selected=true]");
    left?.focus({ preventScroll: true });
    tell(learning);
  }

  function show(learning, place) {
    const fresh = { chosen: null, typed: "", checked: false, asking: false, ended: false, good: false, live: "" };
    Object.assign(learning.open, { place, ...fresh });
    remember(learning, { beat: place, done: !!learning.progress[learning.open.lesson.id]?.done });
    const now = beat(learning);
    handle(learning).set(now.live ? CLEAR : { guess: now.guess, hidden: now.hidden, lit: now.lit });
    if (now.live) {
      learning.waiting = null;
      look(learning);
    } else stand(learning, now.at);
    draw(learning);
  }

  /** Move the player to a place of the beat's run; load that run first where another is shown. */
  function stand(learning, at) {
    const run = learning.open.lesson.runs[beat(learning).run];
    const trace = handle(learning).trace;
    if (trace && trace.started.run_id === run.run_id) {
      learning.waiting = null;
      handle(learning).go(S.lessonCursor(trace, at), true, at.node);
    } else if (learning.waiting !== run.run_id) {
      learning.waiting = run.run_id;
      ask(learning, run);
    }
  }

  /** Ask for a run until it is there: a page drops a request that comes while an earlier one is under way. A server
      that gave no answer, so that it is asked `again`, may be out of reach: then what the lesson brought along is
      shown. */
  function ask(learning, run, again = false) {
    learning.asked.add(run.run_id);
    learning.options.load(run.file);
    if (again && learning.texts.has(run.file)) return handle(learning).load(learning.texts.get(run.file));
    setTimeout(() => {
      if (learning.open && learning.waiting === run.run_id) ask(learning, run, true);
    }, ASK_AGAIN_MS);
  }

  /** The player has drawn: perhaps the run that was waited for, perhaps one of the visitor's own. */
  function arrived(learning) {
    learning.panel.fit();
    if (!learning.open || learning.open.ended) return;
    const trace = handle(learning).trace;
    if (learning.waiting && trace && trace.started.run_id === learning.waiting) {
      learning.waiting = null;
      stand(learning, beat(learning).at);
      draw(learning);
      // what stands above has grown meanwhile
      if (learning.open.fresh) requestAnimationFrame(() => showPlayer(learning, "start"));
      learning.open.fresh = false;
    } else if (beat(learning).live) look(learning);
  }

  function look(learning) {
    const trace = handle(learning).trace;
    const mine = trace && trace.finished && trace.rounds.length && !learning.recorded.has(trace.started.run_id);
    const before = learning.open.live;
    if (learning.options.live === false)
      learning.open.live = "This exercise needs the page with its engine; skip it here.";
    else if (!mine) learning.open.live = "Waiting for a run of yours.";
    else if (!learning.own.changed(trace.started)) learning.open.live = S.SAME_AS_BEFORE;
    else {
      const { done, said } = S.LIVE_CHECKS[beat(learning).live.check](trace);
      learning.open.good = learning.open.good || done;
      learning.open.live = `Your run: ${said} ${done ? "Done." : "Not yet: try other settings."}`;
      if (done) right(learning);
    }
    if (learning.open.live !== before) draw(learning);
  }

  /** Go on. `gives`: where nobody has answered, show the answer; else only say that one is wanted. Hands that a class
      has shown are counted first. */
  function next(learning, gives = true) {
    if (handle(learning)?.guessCounted) return handle(learning).run("guessOn");
    if (learning.open.ended) {
      const following = followingLesson(learning);
      return following ? start(learning, following.id, 0) : leave(learning);
    }
    if (beat(learning).question && !learning.open.checked) {
      learning.open.asking = true;
      return gives || learning.open.chosen !== null ? check(learning) : draw(learning);
    }
    if (learning.open.place + 1 < learning.open.lesson.beats.length) return turn(learning, learning.open.place + 1);
    remember(learning, { beat: 0, done: true });
    learning.open.ended = true;
    handle(learning).set(CLEAR);
    draw(learning);
    learning.panel.focus();
  }

  function back(learning) {
    if (learning.open.ended) return turn(learning, learning.open.lesson.beats.length - 1);
    if (learning.open.place > 0) turn(learning, learning.open.place - 1);
  }

  function turn(learning, place) {
    const inside = learning.panel.box.contains(document.activeElement) && document.activeElement.matches("input");
    show(learning, place);
    if (inside) learning.panel.focus();
    learning.panel.box.scrollIntoView({ block: "nearest" });
  }

  function choose(learning, place) {
    if (
      !beat(learning).question ||
      learning.open.checked ||
      learning.open.ended ||
      place >= beat(learning).question.choices.length
    )
      return;
    learning.open.chosen = place;
    draw(learning);
  }

  function type(learning, key) {
    if (learning.open.checked || learning.open.ended) return;
    const { place, typed } = S.chosenBy(beat(learning).question.choices, learning.open.typed, key);
    learning.open.typed = typed;
    if (place !== null) choose(learning, place);
  }

  function check(learning) {
    const now = beat(learning);
    learning.open.checked = true;
    learning.open.good = learning.open.chosen !== null && now.question.choices[learning.open.chosen].right;
    if (learning.open.good) right(learning);
    if (now.guess) {
      handle(learning).set({ guess: false });
      if (!learning.waiting) stand(learning, S.revealed(now.at));
    }
    draw(learning);
  }

  function right(learning) {
    const known = learning.progress[learning.open.lesson.id].right;
    remember(learning, { right: known.includes(learning.open.place) ? known : [...known, learning.open.place] });
  }

  /** The task of the beat's editor is solved. */
  function solved(learning) {
    learning.open.good = true;
    right(learning);
    draw(learning);
  }

  function remember(learning, changes) {
    learning.progress[learning.open.lesson.id] = {
      beat: 0,
      done: false,
      right: [],
      ...learning.progress[learning.open.lesson.id],
      ...changes,
    };
    S.memory.set("lessons", JSON.stringify(learning.progress));
  }

  const followingLesson = (learning) => learning.data.lessons[learning.data.lessons.indexOf(learning.open.lesson) + 1];

  function draw(learning) {
    if (learning.open.ended) {
      const all = S.exercises(learning.open.lesson);
      const solved = all.filter((place) => learning.progress[learning.open.lesson.id].right.includes(place)).length;
      const { lesson } = learning.open;
      const goal = S.lessonLabel(lesson, lesson.goal);
      learning.open.score = `${goal} You solved ${solved} of ${S.count(all.length, "exercise")}.`;
    }
    const tabs = !!document.querySelector("[role=tab]"); // a page that stands alone has none
    learning.panel.draw({
      ...learning.open,
      beat: beat(learning),
      waiting: learning.waiting,
      tabs,
      following: followingLesson(learning),
    });
    tell(learning);
  }

  function tell(learning) {
    S.setText(learning.learn, learning.open ? "Lesson" : "Learn");
    for (const watcher of learning.watchers) watcher(state(learning));
  }

  const state = (learning) => (learning.open ? { id: learning.open.lesson.id, beat: learning.open.place } : null);

  function follow(learning) {
    S.openTab(beat(learning).link.tab);
  }

  function showPlayer(learning, block = "nearest") {
    if (learning.player().getClientRects().length) return learning.panel.box.scrollIntoView({ block });
    S.openTab("Watch");
    requestAnimationFrame(() => {
      learning.panel.box.scrollIntoView({ block });
      learning.panel.focus(); // which only what is shown can take
    });
  }

  /** The lessons as cards in `place`, kept up with what the visitor has done. */
  function cards(learning, place) {
    const draw = () =>
      place.replaceChildren(
        ...S.lessonRows(learning.data, learning.progress, (id, place) => start(learning, id, place)),
      );
    learning.watchers.add(draw);
    S.followWording(() => place.isConnected && draw());
    draw();
  }

  /** The keys of an open lesson come before those of the player. */
  function listen(learning) {
    document.addEventListener(
      "keydown",
      (event) => {
        if (!learning.open || event.defaultPrevented || !learning.panel.box.getClientRects().length) return;
        if (document.querySelector("dialog[open]")) return;
        const command = S.lessonCommand(event, event.target instanceof Element ? event.target : null);
        const asks = beat(learning).question && !learning.open.checked && !learning.open.ended;
        if (!command || (command.does === "choose" && !asks)) return;
        event.preventDefault();
        event.stopPropagation(); // or the player would step, too
        if (command.does === "next") next(learning, command.gives);
        else if (command.does === "back") back(learning);
        else type(learning, command.typed);
      },
      true,
    );
  }

  function mountLearn(element, options) {
    const data = JSON.parse(options.data || '{"lessons": [], "missing": []}');
    const player = options.player || (() => document.querySelector("#sv-player .sv-player"));
    const progress = S.readProgress(S.memory.get("lessons", ""));
    const recorded = new Set(data.lessons.flatMap((lesson) => Object.values(lesson.runs).map((run) => run.run_id)));
    const watchers = new Set();
    const texts = new Map(Object.entries(options.texts || {})); // file → the run as text, for an exported lesson
    const learn = h("button", { type: "button", class: "sv-learn", onclick: () => press(learning) }, "Learn");
    if (options.button !== false) element.replaceChildren(learn);
    const panel = S.lessonPanel({
      next: () => next(learning),
      back: () => back(learning),
      leave: () => leave(learning),
      choose: (place) => choose(learning, place),
      link: () => follow(learning),
      solved: () => solved(learning),
    });
    const learning = {
      element,
      options,
      data,
      player,
      progress,
      recorded,
      watchers,
      texts,
      learn,
      panel,
      open: null, // {lesson, place, chosen, checked, ended}
      waiting: null, // the run_id that the player does not show yet
      unsubscribe: null,
      own: S.ownRuns(),
      asked: new Set(), // runs that lessons showed: they fill none of the page's controls
    };

    listen(learning);
    S.followWording(() => learning.open && draw(learning));

    /** Texts of runs arrived: {"texts": {file: text}}. */
    function keep(value) {
      for (const [file, text] of Object.entries(JSON.parse(value || "{}").texts || {})) texts.set(file, text);
    }

    S.lesson = {
      data,
      keep,
      cards: (place) => cards(learning, place),
      /** The open lesson with all its runs, for a file that plays it alone; null without one or before they came. */
      whole() {
        const files = learning.open ? filesOf(learning.open.lesson) : [];
        if (!learning.open || files.some((file) => !texts.has(file))) return null;
        return {
          data: { lessons: [learning.open.lesson], missing: [] },
          texts: Object.fromEntries(files.map((file) => [file, texts.get(file)])),
          ...state(learning),
        };
      },
      open: (id, place) => start(learning, id, place),
      leave: () => leave(learning),
      next: () => learning.open && next(learning),
      back: () => learning.open && back(learning),
      state: () => state(learning),
      subscribe(watcher) {
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
    };
    if (waitingPlace) cards(learning, waitingPlace);
    S.followExercises();
    return S.lesson;
  }

  let waitingPlace = null;

  /** Draw the lessons as cards in `place`, as soon as they are mounted. */
  function showLessons(place) {
    if (S.lesson) S.lesson.cards(place);
    else waitingPlace = place;
  }

  /** In a page that stands alone: play a lesson that `whole()` gave, or `lesson_file` of specviz/lessons. */
  function playLesson(player, lesson) {
    const root = document.querySelector(".sv-player");
    const place = root.parentElement.insertBefore(h("div", { class: "sv-learn-box" }), root);
    S.mountLearn(place, {
      data: JSON.stringify(lesson.data),
      texts: lesson.texts,
      load: (file) => player.load(lesson.texts[file]),
      player: () => root,
      live: false,
    });
    S.lesson.open(lesson.id, lesson.beat);
  }

  /** The open lesson with its runs, as `playLesson` takes it; null without one. */
  const lessonAtHand = () => (S.lesson ? S.lesson.whole() : null);

  return { mountLearn, showLessons, playLesson, lessonAtHand };
})(SpecViz);
Object.assign(SpecViz, lesson);
