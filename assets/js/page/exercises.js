/* A set of exercises in a dialog: the test before the lessons, the one after them, a lesson's homework. It ends in a
   line to hand in, which the student copies; nothing leaves the page by itself. `#exercises=ID` opens one. */
// needs: address, class_board, class_page, dom, hand_in, lesson_state, line_box, numbers, own_race, race_line
const exercises = (function (S) {
  "use strict";

  const { h } = S;
  const BLIND = "before"; // its answers are not shown: the test after the lessons asks for the same things
  const CLASS = "class";
  const CLASS_TITLE = "For a class";
  const OWN = "Write your name, or what your teacher knows you by.";

  const allSets = () => S.EXERCISES || [];

  /** What was answered before the page was loaded anew: {name, chosen}. */
  function keptAnswers(set) {
    const [letters, ...name] = S.visit.get(`answers.${set.id}`, "").split("|");
    const chosen = set.exercises.map(({ choices }, at) => {
      const place = S.LETTERS_OF_ANSWERS.indexOf(letters[at]);
      return choices[place] ? place : null;
    });
    return { name: name.join("|"), chosen };
  }

  /** A question as a field of choices; `took` is called when one is chosen. */
  function asked(exercise, at, chosen, took) {
    const take = (place) => {
      chosen[at] = place;
      took();
    };
    const choices = exercise.choices.map((choice, place) =>
      h(
        "label",
        { class: "svl-choice" },
        h("input", { type: "radio", name: `svx-${at}`, checked: chosen[at] === place, onchange: () => take(place) }),
        h("span", { class: "svl-number", "aria-hidden": "true" }, S.LETTERS_OF_ANSWERS[place]),
        h("span", { class: "svl-words" }, choice.text),
        h("span", { class: "svl-mark", role: "img" }),
      ),
    );
    const why = h("p", { class: "svx-why", hidden: true });
    const box = h(
      "li",
      {},
      h(
        "fieldset",
        { class: "svl-question" },
        h("legend", {}, `${at + 1}. ${exercise.ask}`),
        h("div", { class: "svl-choices" }, choices),
      ),
      why,
    );
    function reveal() {
      choices.forEach((label, place) => {
        const { right } = exercise.choices[place];
        const state = right ? " is-right" : place === chosen[at] ? " is-wrong" : "";
        S.set(label, "class", `svl-choice${state}`);
        label.querySelector("input").disabled = true;
        const [sign, words] = { " is-right": ["✓", "right"], " is-wrong": ["✗", "not right"] }[state] || ["", ""];
        S.setText(label.querySelector(".svl-mark"), sign);
        S.set(label.querySelector(".svl-mark"), "aria-label", words);
      });
      why.hidden = false;
      S.setText(why, exercise.why);
    }
    return { box, reveal };
  }

  /** What is said once the line is there. */
  function outcome(set, chosen) {
    const left = chosen.filter((place) => place === null).length;
    const open = left ? ` ${S.count(left, "question")} without an answer.` : "";
    if (set.id === BLIND) return `Copy the line and hand it in.${open} The answers come after the second test.`;
    const { right, of } = S.scoreOf(set, S.lettersOf(chosen));
    return `${right} of ${of} right.${open} Copy the line and hand it in.`;
  }

  /** The form of a set.
      @param {page.ExerciseSet} set */
  function exerciseForm(set) {
    const { name: before, chosen } = keptAnswers(set);
    const keep = () => S.visit.set(`answers.${set.id}`, `${S.lettersOf(chosen)}|${name.value}`);
    const questions = set.exercises.map((exercise, at) => asked(exercise, at, chosen, keep));
    const name = h("input", {
      type: "text",
      class: "svx-name",
      autocomplete: "name",
      maxlength: 40,
      "aria-label": "your name",
      value: before,
      oninput: keep,
    });
    const said = h("p", { class: "svx-said", role: "status" });
    const line = S.lineBox(said);
    const make = h("button", { class: "svl-btn is-next" }, "Make the line to hand in");
    const form = h(
      "form",
      { class: "svx-form", onsubmit: submit },
      h(
        "ol",
        {},
        questions.map(({ box }) => box),
      ),
      h("label", { class: "svx-who" }, "Your name", name),
      make,
      line.box,
      said,
    );

    function submit(event) {
      event.preventDefault();
      if (!S.handInName(name.value)) {
        S.setText(said, OWN);
        return name.focus();
      }
      line.show(S.handInLine({ task: set.id, name: name.value, answer: S.lettersOf(chosen) }));
      S.setText(said, outcome(set, chosen));
      if (set.id !== BLIND) {
        for (const { reveal } of questions) reveal();
        make.hidden = true;
      }
      line.focus();
    }
    return form;
  }

  const OTHERS = {
    [CLASS]: { title: "What a class has handed in", page: () => S.classPage(allSets()) },
    [S.RACE_TASK]: { title: "Race against yourself", page: S.ownRace },
  };
  let shown = null; // the open dialog

  /** Open a set, the race or the class's board, by its id; false where there is none. */
  function openExercises(id) {
    const set = allSets().find((one) => one.id === id);
    const other = Object.hasOwn(OTHERS, id) ? OTHERS[id] : null;
    if (!set && !other) return false;
    if (shown) shown.close();
    const title = set ? set.title : other.title;
    const dialog = h(
      "dialog",
      { class: "svl-list svx", "aria-label": title },
      h("h2", { tabindex: "-1", autofocus: true }, title),
      set ? [h("p", {}, set.goal), exerciseForm(set)] : other.page(),
      h("form", { method: "dialog" }, h("button", { class: "svl-btn" }, "Close")),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      shown = null;
      S.visit.set(`answers.${id}`, ""); // the next one begins anew
      S.setAddress({ exercises: "" });
    });
    const around =
      document.querySelector('.sv-player[data-view="present"]') || document.querySelector(".gradio-container");
    (around || document.body).append(dialog);
    shown = dialog;
    S.setAddress({ exercises: id });
    dialog.showModal();
    return true;
  }

  /** For a teacher, below the list of lessons: both tests, the homework, the board. `before` is called first. */
  function classRows(before = () => {}) {
    const open = (id, words) =>
      h(
        "button",
        {
          type: "button",
          class: "svl-btn",
          onclick: () => {
            before();
            openExercises(id);
          },
        },
        words,
      );
    const sets = allSets();
    if (!sets.length) return [];
    const homework = sets.filter(({ id }) => id.startsWith("homework-"));
    const row = (title, text, ...buttons) =>
      h(
        "li",
        { class: "svl-row svx-row" },
        h("h3", {}, title),
        h("p", {}, text),
        h("div", { class: "svx-buttons" }, buttons),
      );
    return [
      h("ol", { class: "svx-rows", "aria-label": CLASS_TITLE }, [
        ...sets.filter((set) => !homework.includes(set)).map((set) => row(set.title, set.goal, open(set.id, "Open"))),
        row(
          "Homework",
          homework[0]?.goal || "",
          ...homework.map((set) => open(set.id, set.title.replace(/^.*?: /, ""))),
        ),
        row(
          OTHERS[S.RACE_TASK].title,
          "Choose who drafts and how much, race plain decoding in your own tab, and hand in your fastest try.",
          open(S.RACE_TASK, "Open"),
        ),
        row(
          OTHERS[CLASS].title,
          "Paste the lines; they become a table. Nothing leaves this page.",
          open(CLASS, "Open"),
        ),
      ]),
    ];
  }

  /** The same folded away, below a player that comes without lessons. */
  function classDrawer() {
    followExercises();
    return h("details", { class: "svw-drawer svx-drawer" }, h("summary", {}, CLASS_TITLE), classRows());
  }

  /** Open what a link asks for, now and later. */
  function followExercises() {
    S.openLinks((fields) => fields.exercises && !shown && openExercises(fields.exercises));
  }

  return { openExercises, classRows, classDrawer, followExercises };
})(SpecViz);
Object.assign(SpecViz, exercises);
