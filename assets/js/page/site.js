/* The static site: recordings come as scripts that hand themselves over, so that it works from a folder, without a
   server. What is shown is what the page of the server shows: the same player, the same charts. */
// needs: address, dom, embed, lesson, rule_editor, run_here, specviz, ways_here
const site = (function (S) {
  "use strict";

  const { h } = S;
  const [NARROW, TALL] = [640, 680];
  const SECTIONS = { proof: ".svs-rule", race: ".svs-race", speedup: ".svs-charts" }; // by tab
  const waiting = new Map(); // what is awaited → what to do with it
  const kept = new Map();

  /** Called by the scripts of the site: the content of `run:NAME` or `sweep:NAME`. */
  function deliver(name, content) {
    kept.set(name, content);
    waiting.get(name)?.(content);
  }

  /** Load a script of the site that delivers `name`; rejects where there is no such file. */
  function ask(name, file) {
    if (kept.has(name)) return Promise.resolve(kept.get(name));
    return new Promise((done, failed) => {
      waiting.set(name, done);
      const lost = () => failed(new Error(`${file} is missing from this site`));
      document.head.append(h("script", { src: file, onerror: lost }));
    });
  }

  async function gunzip(base64) {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  /** The trace's text, as recorded: a stored live run is a recorded one from now on. */
  async function runText(name) {
    const trace = JSON.parse(await gunzip(await ask(`run:${name}`, `runs/${encodeURIComponent(name)}.js`)));
    if (trace.started.source === "live") trace.started.source = "recorded";
    return JSON.stringify(trace);
  }

  /** Show what stands beside the runs under a tab, and fill it when it is first opened. */
  function showSection(page, name, fills) {
    for (const [tab, selector] of Object.entries(SECTIONS)) {
      const box = page.querySelector(selector);
      box.hidden = name !== tab;
      if (!box.hidden && !box.childNodes.length) fills[tab](box);
    }
  }

  /** The recorded runs, one of which is shown. */
  function runChooser(runs, show) {
    const options = runs.map((run) => h("option", { value: run.name }, run.label));
    const chooser = h("select", { "aria-label": "recorded run", onchange: () => show(chooser.value) }, options);
    return chooser;
  }

  /** Build the site's page over the data in it. */
  async function site(page) {
    const data = JSON.parse(page.getElementById("sv-site").textContent);
    const names = data.runs.map((run) => run.name);
    const tell = (text) => S.setText(page.querySelector(".svs-said"), text);
    const embedded = new URLSearchParams(location.search).has("embed");
    page.documentElement.classList.toggle("is-embedded", embedded);
    S.RECORDED = data.recorded;
    const chooser = runChooser(data.runs, (name) => show(name));
    const tab = (name, label) =>
      h("button", { type: "button", "aria-pressed": "false", "data-tab": name, onclick: () => open(name) }, label);
    const tabs = [tab("step", "Runs"), tab("proof", "Write the rule")];
    if (data.sweeps.length) tabs.push(tab("speedup", "Speedup"));
    const runs = data.engine && location.protocol.startsWith("http") && !embedded; // a folder may not start a worker
    if (runs) tabs.push(tab("race", "Race and sweep here"));
    const known = (name) => (tabs.some((one) => one.dataset.tab === name) ? name : "step");
    const fills = {
      proof: S.mountRule,
      race: (box) => box.append(...S.waysHere(data.engine, watch)),
      speedup: (box) => drawCharts(box, data.sweeps).catch((error) => tell(error.message)),
    };
    const learn = h("span", {});
    page.querySelector(".svs-nav").append(...tabs, chooser, learn);
    const asked = S.readAddress(location.search, location.hash);
    const first = names.includes(asked.run) ? asked.run : data.first;
    const handle = S.mount(page.querySelector("main"), { value: await runText(first), badge: true });
    chooser.value = first;
    S.listen(handle, (given) => (typeof given === "object" ? handle.load(JSON.stringify(given)) : show(given)));
    const here = runs ? S.runHere(data.engine, (text) => handle.load(text)) : null;
    if (here) page.querySelector(".svs-nav").after(here);
    if (data.lessons && S.mountLearn && !embedded)
      S.mountLearn(learn, {
        data: JSON.stringify(data.lessons),
        load: (file) => show(file.replace(/\.json\.gz$/, "")),
        player: () => handle.root,
        live: false,
      });
    S.followLesson();
    open("step", false);
    S.openLinks(follow);
    if (!embedded) keepForOffline((words) => S.setText(page.querySelector(".svs-kept"), words));

    /** Show a run of the visitor's own in the player. */
    function watch(text) {
      handle.load(text);
      open("step");
    }

    /** What a link asks for; what this site cannot do, it says. */
    function follow(fields) {
      tell("");
      const there = names.includes(fields.run);
      if (fields.run && !there) tell(`This site has no recorded run '${fields.run.slice(0, 60)}'.`);
      else if (fields.run && fields.run !== data.recorded[handle.trace.started.run_id]) show(fields.run);
      if (fields.ask && !fields.run)
        tell("This link is a live run, and this site has no engine to run it; what is shown is a recorded one.");
      open(known(fields.tab), false);
    }

    async function show(name) {
      if (!names.includes(name)) throw new Error(`there is no recorded run '${String(name).slice(0, 60)}' here.`);
      try {
        handle.load(await runText(name));
        chooser.value = name;
        tell("");
      } catch (error) {
        tell(error.message);
        throw error;
      }
    }

    function open(name, keep = true) {
      for (const one of tabs) one.setAttribute("aria-pressed", String(one.dataset.tab === name));
      page.querySelector("main").hidden = name !== "step";
      chooser.hidden = name !== "step";
      if (here) here.hidden = name === "race"; // which has a form of its own
      if (keep) S.setAddress({ tab: name === "step" ? "" : name });
      showSection(page, name, fills);
    }
  }

  async function drawCharts(box, sweeps) {
    for (const sweep of sweeps) {
      const charts = await ask(`sweep:${sweep}`, `sweeps/${encodeURIComponent(sweep)}.js`);
      box.append(h("h2", {}, `Recorded sweep: ${sweep}`));
      if (!globalThis.Plotly) await script("plotly.js");
      for (const chart of charts) {
        const plot = h("div", { class: "svs-plot" });
        box.append(h("h2", {}, chart.title), h("p", {}, chart.question), h("p", { class: "svp-small" }, chart.reading));
        box.append(plot);
        const settings = { displayModeBar: false, responsive: true }; // its tools would lie over the legend
        const { data, layout } = chart.figure;
        const least = innerWidth < NARROW ? TALL : 0; // legend and upright names take much of a phone
        await globalThis.Plotly.newPlot(plot, data, { ...layout, height: Math.max(least, layout.height) }, settings);
      }
    }
  }

  /** Have the browser keep the site for when there is no network; `tell` says whether it does. */
  async function keepForOffline(tell) {
    if (!location.protocol.startsWith("http")) return; // a folder is there anyway
    try {
      await navigator.serviceWorker.register("offline.js");
      await navigator.serviceWorker.ready;
      tell("Kept in this browser: it opens without a network, too.");
    } catch (error) {
      // neither https nor localhost, a frame, a private window
      tell(`This browser does not keep it for use without a network (${error.name}).`);
    }
  }

  const script = (file) =>
    new Promise((done, failed) => {
      const lost = () => failed(new Error(`${file} is missing from this site`));
      document.head.append(h("script", { src: file, onload: done, onerror: lost }));
    });

  return { site, deliver };
})(SpecViz);
Object.assign(SpecViz, site);
