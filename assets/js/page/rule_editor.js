/* The editor in which a visitor writes a rule: bars of p and q, the rule's lines, what it does, and tasks to hand in.
   Everything is worked out in the visitor's own browser. */
// needs: address, dom, hand_in, rule_bars, rule_draft, rule_report, rule_tasks, rule_verdict, rule_worker, wording
const ruleEditor = (function (S) {
  "use strict";

  const { h } = S;
  const SOON = 120; // ms after the last key
  const DRAWS = [
    ["iid", "each from q"],
    ["without_replacement", "without replacement"],
    ["shared", "by u itself"],
  ];
  const LINES = [
    ["accept", "with which probability candidate x is kept, or a comparison with u"],
    ["replacement", "weights of the token that is drawn where x is rejected"],
    ["bonus", "weights of the token after the round; left out: if(rejected, 0, p)"],
    ["stop", "with which probability the draft ends before x; left out: 0"],
  ];
  const NAMES = [
    ["p, q", "the target's and the drafter's row"],
    ["x, p[x]", "the drafted token as a row of 0 and 1, and p at it"],
    ["u", "a number between 0 and 1; it can only be compared"],
    ["r", "what is left of p for this candidate: p at first, then what the line replacement came to"],
    ["Q", "what this candidate was drawn from: q, or q without the siblings before it"],
    ["rejected", "1 where the round ended with a rejection (in bonus)"],
    ["K, gamma, rho", "the number of siblings, the longest draft, K-SEQ's factor"],
  ];

  const chooser = (label, options, changed) => {
    const select = h("select", { ...S.worded(label, "aria-label"), onchange: () => changed(select.value) }, options);
    return { select, field: h("label", {}, h("span", S.worded(label)), select) };
  };
  const option = (value, text = String(value)) => h("option", { value }, text);
  const upTo = (least, most) => Array.from({ length: most - least + 1 }, (_, place) => option(least + place));

  /** Words in which `like this` stands for code. */
  const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

  function explained(title, entries) {
    const rows = entries.map(([name, what]) => h("div", {}, h("dt", {}, h("code", {}, name)), h("dd", S.worded(what))));
    return h("details", {}, h("summary", {}, title), h("dl", {}, rows));
  }

  /** The task's own part: what is asked, hint, solution, and the line to hand in. */
  function taskBox(editor) {
    const said = h("div", { role: "status", "aria-live": "polite" });
    const name = h("input", { type: "text", "aria-label": "your name", placeholder: "your name", maxlength: "40" });
    const line = h("input", { type: "text", class: "svw-line", readonly: true, "aria-label": "line to hand in" });
    const copy = h("button", { type: "button", onclick: () => copied() }, "Copy");
    const check = h("button", { type: "button", onclick: () => editor.check() }, "Check and hand in");
    const handed = h(
      "div",
      { class: "svw-handed" },
      h("p", {}, "Your line to hand in, solved or not. Copy it and send it to your teacher."),
      h("div", { class: "svw-row" }, line, copy),
    );
    const root = h("section", { class: "svw-task", "aria-label": "what is asked" });

    async function copied() {
      line.select();
      const done = await S.copyText(line.value);
      S.setText(copy, done ? "Copied" : "Marked: copy it with the keys of your system");
    }
    return {
      root,
      said,
      show() {
        const task = S.taskOf(editor.state.task);
        root.hidden = !task;
        said.replaceChildren();
        handed.hidden = true;
        if (!task) return root.replaceChildren();
        const { title, ask, hint } = S.inWords(task);
        const hidden = (name, content) => h("details", {}, h("summary", {}, name), content);
        return root.replaceChildren(
          h("h3", {}, title),
          h("p", {}, ...withCode(ask)),
          hidden("Hint", h("p", { class: "svw-hint" }, ...withCode(hint))),
          hidden("Solution", h("pre", {}, task.solution)),
          h("div", { class: "svw-row" }, name, check),
          said,
          handed,
        );
      },
      checked(result, text) {
        const task = S.taskOf(editor.state.task);
        const { missing, mistakes } = S.inWords(result);
        const { passed } = result;
        const reasons = [...missing, ...mistakes.map((name) => name.charAt(0).toLowerCase() + name.slice(1))];
        const sentence = passed ? `Solved. ${S.inWords(task).look}` : `Not yet: ${reasons.join("; ")}.`;
        const named = S.handInName(name.value) !== "";
        said.replaceChildren(
          h("p", { class: `svw-verdict is-${passed ? "good" : "bad"}` }, ...withCode(sentence)),
          named ? "" : h("p", {}, "For a line to hand in, write your name and check again."),
        );
        line.value = S.handInRule(task.id, name.value, text);
        S.setText(copy, "Copy");
        handed.hidden = !named;
      },
    };
  }

  /** The controls above the bars; `set` changes the world. */
  function shapeBox(editor, set) {
    const number = (label, key, least, most) =>
      chooser(label, upTo(least, most), (value) => set({ [key]: Number(value) }));
    const tokens = chooser("tokens", upTo(3, 8), (value) => {
      const [p, q] = [editor.state.world.p, editor.state.world.q].map((row) => S.resizedRow(row, Number(value)));
      set({ p, q });
    });
    const gamma = number("γ, longest draft", "gamma", 1, 3);
    const siblings = number("candidates", "siblings", 1, 3);
    const draws = DRAWS.map(([value, words]) => h("option", { value, ...S.worded(words) }));
    const draw = chooser("how they are drawn", draws, (value) => set({ draw: value }));
    return {
      root: h("div", { class: "svw-row" }, tokens.field, gamma.field, siblings.field, draw.field),
      show() {
        const { world, task } = editor.state;
        tokens.select.value = String(Math.max(3, world.p.length));
        gamma.select.value = String(world.gamma);
        siblings.select.value = String(world.siblings);
        draw.select.value = world.draw;
        for (const { select } of [gamma, siblings, draw]) select.disabled = !!S.taskOf(task);
      },
    };
  }

  /** Where the rule is typed; `typed` is called for every change. */
  function codeBox(typed) {
    const fault = h("p", { class: "svw-fault", role: "alert" });
    const area = h("textarea", {
      class: "svw-code",
      rows: "7",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      maxlength: "1000",
      "aria-label": "the rule, a line each",
      oninput: () => typed(area.value),
    });
    const group = (label, rules) =>
      h(
        "optgroup",
        { label },
        Object.keys(rules).map((name) => option(name, name.replace(/_/g, " "))),
      );
    const start = chooser(
      "start from",
      [
        option("", "a rule that is known …"),
        group("of the field", S.WRITTEN.built_in),
        group("broken", S.WRITTEN.broken),
      ],
      (name) => {
        if (!name) return;
        const broken = S.WRITTEN.broken[name];
        typed(broken ? broken.rule : S.WRITTEN.built_in[name], broken?.draw);
        start.select.value = "";
      },
    );
    return {
      area,
      root: h("div", { class: "svw-write" }, start.field, area, fault),
      fault(error) {
        S.setText(fault, error ? error.message : "");
        area.setAttribute("aria-invalid", String(!!error));
      },
    };
  }

  /** What is written, and beside it what that does. */
  function columns(code, shape, bars, report) {
    const yours = h("p", { class: "svw-yours", ...S.worded("Your p and q: drag a bar, or use the arrow keys on it.") });
    const meaning = [explained("The lines", LINES), explained("The names", NAMES)];
    const written = h("div", {}, code.root, yours, shape.root, bars.root, meaning);
    return h("div", { class: "svw-columns" }, written, h("div", {}, report.parts));
  }

  /** The buttons above the editor. In a lesson there are none: the player presents it, and its link is the lesson's. */
  function topBox(tasks, place) {
    const present = h("button", { type: "button", "aria-pressed": "false", onclick: turn }, "Present");
    const link = h("button", { type: "button", onclick: linked }, "Copy link");
    const words = h("button", { type: "button", onclick: S.turnWording, ...S.worded("In plain words") });
    const isPresenting = () => place.dataset.view === "present";

    async function linked() {
      const said = await S.copyAddress();
      S.setText(link, `${said.charAt(0).toUpperCase()}${said.slice(1)}`);
    }
    /** Into the whole window, or back. */
    function turn() {
      if (isPresenting()) delete place.dataset.view;
      else place.dataset.view = "present";
      document.documentElement.classList.toggle("sv-presenting", isPresenting());
      S.set(present, "aria-pressed", String(isPresenting()));
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && place.isConnected && isPresenting()) turn();
    });
    return h("div", { class: "svw-row svw-top" }, tasks.field, h("div", { class: "svw-row" }, words, link, present));
  }

  /** What the rule does; `showPairs(whether)` is told when the second position is asked for. */
  function reportBox(showPairs) {
    const report = h("div", { class: "svw-report", role: "status", "aria-live": "polite" });
    const stale = h("p", { class: "svw-stale" }, "Below is still the last rule that could be read.");
    const pairs = h("input", { type: "checkbox", onchange: () => showPairs(pairs.checked) });
    const check = h("label", { class: "svw-check" }, pairs, h("span", {}, "show the second position too"));
    let last = null; // what was judged, and in which world
    let drawn = "";

    function show(state) {
      pairs.checked = state.pairs;
      const key = `${state.pairs} ${S.isPlain()}`;
      if (last && drawn !== key) report.replaceChildren(...S.ruleReport(last.judged, last.world, state.pairs));
      drawn = key;
    }
    return {
      parts: [stale, check, report],
      show,
      /** @param {RuleDraft} state */
      judged(judged, state) {
        last = { judged, world: state.world };
        drawn = "";
        show(state);
      },
    };
  }

  /** Put the editor into an element; `begin({task, rule})` shows another rule. `solved`: of a lesson's editor, what to
      do when its task is solved; it remembers nothing and stands in no link.
      @param {(() => void) | null} solved */
  function mountRule(place, solved = null) {
    const asker = S.ruleAsker(heard);
    const check = () => asker.ask("task", { task: editor.state.task, text: editor.state.text });
    const editor = { state: S.readDraft(solved ? "" : S.memory.get("rule", "")), check };
    let soon = 0;
    const tasks = chooser(
      "task",
      [option(S.RULE_FREE, "none: write what you like"), ...S.WRITTEN.tasks.map(({ id }) => option(id))],
      (id) => begin({ task: id, rule: editor.state.text }, id ? {} : { world: editor.state.world }),
    );
    const task = taskBox(editor);
    const shape = shapeBox(editor, (changes) => changed({ world: { ...editor.state.world, ...changes } }));
    const bars = S.barBox((which, row) => changed({ world: { ...editor.state.world, [which]: row } }));
    const code = codeBox((text, draw) =>
      changed({ text, world: { ...editor.state.world, ...(draw ? { draw, siblings: 1 } : {}) } }),
    );
    const report = reportBox((pairs) => changed({ pairs }));
    const top = solved ? null : topBox(tasks, place);
    const root = h("div", { class: "svw" }, top, task.root, columns(code, shape, bars, report));

    /** @param {{ task: string, rule: string }} write */
    function begin(write, kept = {}) {
      changed({ ...S.draftOf(write), pairs: editor.state.pairs, ...kept });
      task.show();
    }
    function changed(changes) {
      Object.assign(editor.state, changes);
      if (!solved) S.memory.set("rule", JSON.stringify(editor.state));
      drawn(!solved);
    }
    /** Show the state and have it judged; `kept`: it belongs to the address. */
    function drawn(kept) {
      const { world, text } = editor.state;
      tasks.select.value = editor.state.task;
      report.show(editor.state);
      for (const each of tasks.select.options) if (each.value) S.setText(each, S.inWords(S.taskOf(each.value)).title);
      if (code.area.value !== text) code.area.value = text;
      shape.show();
      bars.show(world, S.ruleLetters(world.p.length));
      clearTimeout(soon);
      soon = setTimeout(async () => {
        asker.ask("law", { text: editor.state.text, world: editor.state.world });
        if (kept) S.setAddress({ rule: await S.pack(editor.state) });
      }, SOON);
    }
    function heard(kind, { judged, fault }) {
      if (kind === "task" && judged) {
        task.checked(judged, editor.state.text);
        if (solved && judged.passed) solved();
      }
      if (kind === "task") return;
      code.fault(fault);
      root.dataset.judged = String(!!judged);
      if (judged) report.judged(judged, editor.state);
    }
    async function follow(fields) {
      if (!fields.rule || !place.isConnected) return;
      try {
        editor.state = await S.unpackDraft(fields.rule);
        drawn(false);
        task.show();
      } catch (error) {
        code.fault(error);
      }
    }

    place.replaceChildren(root);
    drawn(false);
    task.show();
    S.followWording(() => {
      drawn(false);
      task.show();
    });
    if (!solved) S.openLinks(follow);
    return { begin };
  }

  /** The editor folded away, for a page that is about something else; it is made when it is first opened, by a visitor
      or by a link that brings a rule. */
  function ruleDrawer() {
    const place = h("div", { class: "sv-rule" });
    const open = () => place.childNodes.length || mountRule(place);
    const drawer = h("details", { class: "svw-drawer", ontoggle: open }, h("summary", {}, "Write the rule"), place);
    S.openLinks((fields) => {
      if (fields.rule) drawer.open = true;
    });
    return drawer;
  }

  return { mountRule, ruleDrawer };
})(SpecViz);
Object.assign(SpecViz, ruleEditor);
