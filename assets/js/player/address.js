/* The page's address as a whole moment: which run, where in it, and what stands around it. It is kept up while
   stepping, and opened elsewhere it shows the same moment. Everything lies behind the `#`, which browsers send to no
   server; the query of earlier releases is read too. Names: docs/links.md. */
// needs: bytes, dom, state
/** @typedef {Record<string, string>} Fields what an address names, by the names of docs/links.md */

const address = (function (S) {
  "use strict";

  const { END } = S;
  const NAMES = [
    ..."run ask text round beat node tab chart lesson page view hide what set".split(" "),
    ..."choose doc words pins exercises rule".split(" "), // in this order
  ];
  const MOST = 16000; // characters of one field that are read
  const WRITE_MS = 250; // browsers refuse more than some 200 changes of the address in 30 s
  const FIRST_TAB = "watch"; // of an address that names none
  const SPACES = "https://huggingface.co";

  // --- pure --------------------------------------------------------------------------------------------------------

  /** The fields that an address names, as texts; what stands behind the `#` goes before the query. */
  function readAddress(search, hash) {
    const fields = {};
    for (const text of [search, hash])
      for (const [name, value] of new URLSearchParams(String(text).replace(/^[#?]/, "")))
        if (NAMES.includes(name) && value.length <= MOST) fields[name] = value;
    return fields;
  }

  /** Fields → `#run=…&round=5`; those that are empty are left out. */
  function writeAddress(fields) {
    const kept = NAMES.filter((name) => fields[name] !== undefined && fields[name] !== null && fields[name] !== "");
    return `#${kept.map((name) => `${name}=${encodeURIComponent(fields[name])}`).join("&")}`;
  }

  /** `#round=5&beat=3&node=2`, counted from 1 as on the screen; null if there is no such moment in the text. */
  function readMoment(text) {
    const found = typeof text === "string" ? readAddress("", text) : text;
    const number = (name) => (/^\d{1,6}$/.test(found[name] || "") ? Number(found[name]) : null);
    if (number("round") === null) return null;
    return {
      round: number("round") - 1,
      beat: (number("beat") ?? 1) - 1,
      node: found.node === END ? END : number("node"),
    };
  }

  /** @param {Cursor} cursor */
  const momentFields = (cursor, node) => ({ round: cursor.round + 1, beat: cursor.beat + 1, node: node ?? "" });
  /** @param {Cursor} cursor */
  const writeMoment = (cursor, node) => writeAddress(momentFields(cursor, node));

  /** A method as a request names it.
      @param {trace.MethodCard} card */
  const choiceOf = ({ name, options }) => ({ name, options });

  /** The request that would run this trace again, in the words of `RunRequest`; as `request_of` in Python.
      @param {trace.Started} started */
  function requestOf(started) {
    const request = {
      prompt: started.chat_message ?? started.prompt_text,
      chat: typeof started.chat_message === "string",
      target: started.target.name,
      drafter: choiceOf(started.drafter),
      verifier: choiceOf(started.verifier),
      temperature: started.sampling.temperature,
      top_k: started.sampling.top_k,
      top_p: started.sampling.top_p,
      seed: started.seed,
      max_new_tokens: started.max_new_tokens,
      stop: started.stop,
      dtype: started.machine.dtype,
    };
    for (const role of ["tree_policy", "stop_policy"])
      if (started[role]) Object.assign(request, { [role]: choiceOf(started[role]) });
    if (started.scene)
      request.scene = started.scene.shapes
        .map((one) => `${one.size} ${one.colour} ${one.shape} at ${one.x},${one.y}`)
        .join("; ");
    if (started.drafter.model) request.drafter_model = started.drafter.model.name;
    return request;
  }

  const through = async (bytes, stream) =>
    new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

  /** Plain data as a short text for an address: JSON, deflated, base64url. */
  async function pack(data) {
    const bytes = await through(new TextEncoder().encode(JSON.stringify(data)), new CompressionStream("deflate-raw"));
    return S.base64url(bytes);
  }

  /** The data again; rejects where the text is none of `pack`'s. */
  async function unpack(text) {
    const raw = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(raw, (sign) => sign.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
  }

  /** The recorded runs by run id, as the page that can open them declares them; null: the run is in the page itself. */
  const recordedNames = () => S.RECORDED || null;

  /** A run's name in links; null: a live one, which has none. A simulated one is drawn again from What if's values. */
  const nameOf = ({ started }, names) =>
    started.source === "live"
      ? null
      : names[started.run_id] || (started.source === "simulated" ? started.source : null);

  /** The fields that say which run this is: a recorded one by its name, any other by the request that makes it.
      @param {trace.Trace} trace */
  async function runFields(trace) {
    const names = recordedNames();
    if (!names || !trace.finished) return {};
    const name = nameOf(trace, names);
    if (name) return { run: name };
    return { ask: await pack(requestOf(trace.started)), text: S.textHash(trace.finished.text) };
  }

  // --- the page's one address ----------------------------------------------------------------------------------------

  /** @type {{ fields: Fields, wanted: Fields | null, handle: any, trace: trace.Trace | null, drawn: string,
      timer: any, opens: ((fields: Fields) => void)[], kept: Record<string, object> | null, arrived?: boolean,
      keptChanged?: boolean, lesson?: page.Lessons }} */
  const page = { fields: {}, wanted: null, handle: null, trace: null, drawn: "", timer: 0, opens: [], kept: null };
  if (typeof document !== "undefined") {
    page.fields = readAddress(location.search, location.hash);
    page.wanted = { ...page.fields };
    readKept(page.fields);
    addEventListener("hashchange", () => {
      const fields = readAddress("", location.hash);
      if (isWalked()) walked(fields.tab || FIRST_TAB);
      else arrive(fields);
    });
  }

  /** Whether the browser stands at an address of this visit: going back and forth turns tabs alone, and what has been
      run meanwhile stays. */
  const isWalked = () => !!(history.state && history.state.specviz);

  /** Back or forth to an address of this visit, which had this tab. */
  function walked(tab) {
    Object.assign(page.fields, { tab });
    history.replaceState(history.state, "", writeAddress(page.fields)); // the moment is what the player shows
    openTab(tab);
  }

  /** The address was changed from outside: by hand or by a link. */
  function arrive(fields) {
    const same = (fields.run || "") === (page.fields.run || "") && (fields.ask || "") === (page.fields.ask || "");
    page.fields = { ...fields };
    readKept(fields);
    page.wanted = same ? null : { ...fields };
    page.arrived = !same;
    const moment = readMoment(fields);
    if (page.handle && page.handle.trace && same && moment) page.handle.go(moment, true, moment.node);
    view(fields);
    for (const open of page.opens) open(fields);
  }

  /** How the player is to show: present, and what is hidden. */
  function view(fields) {
    if (!page.handle) return;
    if (fields.hide !== undefined) page.handle.set({ hidden: fields.hide.split(/[ ,]+/).filter(Boolean) });
    if (fields.view !== undefined) page.handle.set({ view: fields.view === "present" ? "present" : "" });
  }

  /** The moment that the address asks for in the trace that has just come, once; null: none, or another run's.
      @param {trace.Trace} trace */
  function momentOf(trace, first) {
    const wanted = page.wanted;
    if (!wanted || (S.AWAITS_NAMES && (wanted.run || wanted.ask))) return null;
    const names = recordedNames();
    const there = !names
      ? first
      : wanted.run
        ? nameOf(trace, names) === wanted.run
        : wanted.ask
          ? trace.started.source === "live" && !!trace.finished
          : first || page.arrived;
    if (there || (!first && trace.finished)) page.wanted = null; // another run was opened meanwhile: the link is over
    return there ? readMoment(wanted) : null;
  }

  /** The names of recorded runs are known. A run that is there already waited for them. */
  function named(names) {
    Object.assign(S, { RECORDED: names, AWAITS_NAMES: false });
    page.trace = null; // its link may have been written without them
    const trace = page.handle && page.handle.trace;
    const moment = trace && momentOf(trace, true);
    if (moment) page.handle.go(moment, false, moment.node);
  }

  /** Keep the address up with this player. */
  function follow(handle) {
    if (page.handle && page.handle.root && page.handle.root.isConnected) return;
    page.handle = handle;
    const drawn = () => {
      if (!handle.trace || !handle.trace.rounds.length || page.wanted || !handle.trace.finished) return;
      const seen = `${handle.trace.started.run_id} ${handle.view} ${writeMoment(handle.cursor, handle.selected)}`;
      if (page.drawn && page.drawn !== seen && !handle.alone) later(); // nobody stepped there
      page.drawn = seen;
      followLesson();
    };
    drawn(); // what the page opens with is no step
    handle.subscribe(drawn);
    view(page.fields);
  }

  function later() {
    page.timer = page.timer || setTimeout(write, WRITE_MS);
  }

  /** Put the moment into the address now; resolves to the whole link. */
  async function write() {
    clearTimeout(page.timer);
    page.timer = 0;
    const { handle } = page;
    if (handle && handle.trace && handle.trace.rounds.length) {
      if (page.trace !== handle.trace) {
        const { trace } = handle;
        const found = await runFields(trace);
        page.trace = trace;
        page.fields = { ...page.fields, run: "", ask: "", text: "", ...found };
      }
      Object.assign(page.fields, momentFields(handle.cursor, handle.selected));
      if (handle.view !== undefined) page.fields.view = handle.view;
    }
    const tab = shownTab();
    if (tab && page.fields.tab) page.fields.tab = tabName(tab); // a button may have changed it since
    if (page.keptChanged) {
      page.keptChanged = false;
      const kept = Object.fromEntries(Object.entries(page.kept).filter(([, values]) => Object.keys(values).length));
      Object.assign(page.fields, { what: "", set: Object.keys(kept).length ? await pack(kept) : "" });
    }
    const hash = writeAddress(page.fields);
    const url = location.href.replace(/#.*$/, "") + (hash === "#" ? "" : hash);
    if (url !== location.href) keep(url);
    if (window.parent !== window) window.parent.postMessage({ hash: hash.slice(1) }, SPACES); // a Space's own address
    return url;
  }

  /** Another tab is a step that the browser's Back takes back; another moment is none. */
  function keep(url) {
    const seen = (hash) => readAddress("", hash).tab || FIRST_TAB;
    const turned = seen(location.hash) !== seen(new URL(url).hash);
    const state = { ...history.state, specviz: true };
    if (turned) history.replaceState(state, "");
    history[turned ? "pushState" : "replaceState"](turned ? state : history.state, "", url);
  }

  /** What stands around the moment: tab, lesson, view, hide. An empty text takes a field away. */
  function setAddress(fields) {
    const changed = Object.entries(fields).some(([name, value]) => (page.fields[name] ?? "") !== String(value ?? ""));
    Object.assign(page.fields, fields);
    if (changed && !page.wanted) later();
  }

  /** Calls `open(fields)` with what the address names, now and whenever it is changed from outside. */
  function openLinks(open) {
    page.opens.push(open);
    if (Object.keys(page.fields).length) open(page.fields);
  }

  /** Whatever lesson is open belongs to the address; the lessons mount after the player. */
  function followLesson() {
    if (!S.lesson || page.lesson === S.lesson) return;
    page.lesson = S.lesson;
    const { lesson, page: place } = page.fields;
    if (lesson) S.lesson.open(lesson, Math.max(0, Number(place || 1) - 1));
    S.lesson.subscribe(() => {
      const state = S.lesson.state();
      setAddress({ lesson: state ? state.id : "", page: state ? state.beat + 1 : "" });
    });
  }

  const slug = (name) => name.trim().toLowerCase().replace(/\s+/g, "-");
  const tabName = (tab) => slug(tab.textContent);
  const tabs = () => [...document.querySelectorAll("[role=tab]")];
  /** The chosen tab; where a second row of them is shown, that row's. */
  const shownTab = () =>
    tabs()
      .filter((tab) => tab.getAttribute("aria-selected") === "true" && tab.getClientRects().length)
      .pop();

  /** In the page with tabs: the chosen one belongs to the address. Those without room wait in a menu. */
  function followTabs() {
    const clicked = (event) => {
      const at = event.target instanceof Element ? event.target : null;
      const tab = at ? at.closest("[role=tab], .overflow-dropdown button") : null;
      if (tab && event.isTrusted) setAddress({ tab: tabName(tab) });
    };
    document.addEventListener("click", clicked, true); // gradio keeps some clicks to itself
  }

  /** Show the page's tab of this name, in whichever row it is; the server knows, as of a link. */
  function openTab(name) {
    const there = tabs().find((tab) => tabName(tab) === slug(name) && tab.getClientRects().length);
    if (there) return there.click();
    const { words, pins } = page.fields; // which belong to the visit, whatever the tab
    for (const open of page.opens) open({ words, pins, tab: slug(name) });
  }

  /** The tabs' values that a link brings stay in the address although their controls are not drawn yet. */
  /** @param {Fields} fields */
  async function readKept({ what, set }) {
    page.kept = {};
    try {
      const values = { ...(what ? { "what-if": await unpack(what) } : {}), ...(set ? await unpack(set) : {}) };
      for (const tab of Object.keys(values)) page.kept[tab] = { ...values[tab], ...page.kept[tab] };
    } catch {
      // a link that is cut: the server says so beside Run
    }
  }

  /** A tab's value belongs to the address from when it is changed, and no longer once it is the first one again. */
  function keepControl(tab, name, value, start) {
    const values = { ...page.kept[tab] };
    if (JSON.stringify(value) === JSON.stringify(start)) delete values[name];
    else values[name] = value;
    if (JSON.stringify(values) === JSON.stringify(page.kept[tab] || {})) return;
    page.kept[tab] = values;
    page.keptChanged = true;
    if (!page.wanted) later();
  }

  /** The link to this moment on the clipboard; says which of two things happened. */
  async function copyAddress() {
    const url = await write();
    const branch = page.handle && page.handle.trace.started.branch;
    const but = branch ? "; it runs from the prompt, without the token that was forced" : "";
    return `${(await S.copyText(url)) ? "link copied" : "the link is in the address bar"}${but}`;
  }

  return {
    readAddress,
    writeAddress,
    readMoment,
    writeMoment,
    requestOf,
    pack,
    unpack,
    momentOf,
    named,
    follow,
    openLinks,
    followTabs,
    openTab,
    followLesson,
    setAddress,
    copyAddress,
    keepControl,
    address: write,
  };
})(SpecViz);
Object.assign(SpecViz, address);
