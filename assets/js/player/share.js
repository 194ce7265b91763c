/* The player's Share menu: the link and its QR code, pictures, and the run or round in the formats of other tools.
   Everything is made in the page; nothing is sent anywhere. */
// needs: address, dom, exports, moment_card, pins, qr
const share = (function (S) {
  "use strict";

  const { h } = S;
  const SLIDE = { width: 1920, height: 1080 }; // pixels of a picture, at most
  /** What of an element's looks a picture needs; the rest follows from these. */
  const LOOKS =
    "color background-color background-image border-top border-right border-bottom border-left " +
    "border-radius box-shadow box-sizing display position top right bottom left width height min-width " +
    "max-width min-height max-height margin-top margin-right margin-bottom margin-left padding-top " +
    "padding-right padding-bottom padding-left overflow visibility opacity flex-grow flex-shrink " +
    "flex-basis flex-direction flex-wrap align-items align-self justify-content gap grid-template-columns " +
    "grid-template-areas grid-template-rows grid-column grid-row order font-family font-size font-weight " +
    "font-style font-variant-numeric line-height letter-spacing white-space text-align " +
    "text-decoration-line text-decoration-color text-decoration-style text-overflow vertical-align " +
    "overflow-wrap word-break transform transform-origin z-index list-style-type fill fill-opacity stroke " +
    "stroke-width stroke-dasharray stroke-linecap stroke-opacity text-anchor dominant-baseline " +
    "paint-order";
  const looks = LOOKS.split(" ");

  /** A file's name from the run's id and what it is.
      @param {trace.Trace} trace */
  const nameOf = (trace, what) =>
    `specviz-${String(trace.started.run_id)
      .replace(/[^\w-]+/g, "_")
      .slice(0, 40)}-${what}`;

  function save(content, type, name) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    h("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // --- pictures ------------------------------------------------------------------------------------------------------

  /** A copy that looks as the original does wherever it is put: computed styles written into it. */
  function dressed(original) {
    const copy = original.cloneNode(true);
    const from = [original, ...original.querySelectorAll("*")];
    const to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((one, at) => {
      const seen = getComputedStyle(one);
      to[at].setAttribute("style", looks.map((name) => `${name}:${seen.getPropertyValue(name)}`).join(";"));
    });
    for (const one of to) {
      if (one.matches(".svp-tools, .sv-light, dialog")) one.remove();
      else if (one.hasAttribute("id")) one.removeAttribute("id");
    }
    return copy;
  }

  /** An element as SVG text at the size it has on the page: a drawing as itself, anything else as what it shows. */
  function svgOf(element) {
    const { width, height } = element.getBoundingClientRect();
    const copy = dressed(element);
    const ground = getComputedStyle(element.closest(".sv-player")).getPropertyValue("--sv-ground");
    const sheet = S.svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    const probe = h("i");
    probe.style.background = ground;
    element.closest(".sv-player").append(probe);
    sheet.append(S.svg("rect", { width, height, fill: getComputedStyle(probe).backgroundColor }));
    probe.remove();
    if (element instanceof SVGElement) {
      copy.setAttribute("width", width);
      copy.setAttribute("height", height);
      sheet.append(copy);
    } else {
      copy.style.margin = "0";
      const foreign = S.svg("foreignObject", { width, height });
      foreign.append(copy);
      sheet.append(foreign);
    }
    return { text: new XMLSerializer().serializeToString(sheet), width, height };
  }

  /** The same as a PNG that fills a slide. */
  async function pngOf(element) {
    const { text, width, height } = svgOf(element);
    const scale = Math.min(SLIDE.width / width, SLIDE.height / height);
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await picture.decode();
    const canvas = h("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the browser made no picture"))), "image/png"),
    );
  }

  // --- one file that plays offline ---

  /** The page's own scripts and styles in the frame that `specviz export --as html` uses, with this run in it. */
  function offlinePage(source, moment) {
    const marked = (kind) => [...document.querySelectorAll(`${kind}[data-specviz]`)];
    const all = (kind) =>
      marked(kind)
        .map((one) => one.textContent)
        .join("\n");
    const quoted = (text) => text.replace(/</g, "\\u003c");
    const parts = {
      styles: all("style"),
      scripts: all("script"),
      trace: quoted(source),
      moment: quoted(JSON.stringify(moment)),
      lesson: quoted(JSON.stringify(S.lesson ? S.lesson.whole() : null)),
    };
    return S.FRAME.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  }

  // --- the menu ------------------------------------------------------------------------------------------------------

  function qrDialog() {
    const place = h("div", {});
    const said = h("p", { class: "svp-small" });
    const dialog = h(
      "dialog",
      { class: "svp-help svp-qr-box", "aria-label": "QR code" },
      h("h3", {}, "This moment"),
      place,
      said,
      h("form", { method: "dialog" }, h("button", { class: "svp-btn" }, "close")),
    );
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    const show = (url) => {
      const picture = S.qrPicture(url);
      place.replaceChildren(...(picture ? [picture] : []));
      S.setText(said, picture ? url : "This link is too long for a QR code: its prompt is. Copy it instead.");
      dialog.showModal();
    };
    return { dialog, show };
  }

  /** The moment as a card, with what saves it; `saved(kind)` does, and says so. */
  function cardDialog(view, saved) {
    const place = h("div", {});
    const said = h("p", { class: "svp-small", role: "status" });
    const does = (label, act) =>
      h("button", { type: "button", class: "svp-btn", onclick: async () => S.setText(said, await act()) }, label);
    const dialog = h(
      "dialog",
      { class: "svp-help svm-box", "aria-label": "card of this moment" },
      h("h3", {}, "This moment as a card"),
      place,
      h(
        "div",
        { class: "svm-row" },
        does("save as PNG", () => saved("png")),
        does("save as SVG", () => saved("svg")),
        does("copy the link", () => S.copyAddress()),
        h("form", { method: "dialog" }, h("button", { class: "svp-btn" }, "close")),
      ),
      said,
    );
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    const show = (url) => {
      place.replaceChildren(S.cardPicture(view.now(), url));
      S.setText(said, "");
      dialog.showModal();
    };
    return { dialog, show };
  }

  /** What can be saved, each as a function that saves it and says so. */
  function savers(view) {
    const trace = () => view.now().trace;
    const round = () => view.now().cursor.round;
    const picture = (selector, what) => async (kind) => {
      const element = view.root.querySelector(selector);
      const name = `${nameOf(trace(), what)}.${kind}`;
      if (kind === "svg") save(svgOf(element).text, "image/svg+xml", name);
      else save(await pngOf(element), "image/png", name);
      return `${name} saved`;
    };
    const file = (what, type, make) => () => {
      const name = nameOf(trace(), what);
      save(make(), type, name);
      return `${name} saved`;
    };
    const inRound = (what) => `round-${round() + 1}${what}`;
    const offline = () => {
      const { cursor, selected } = view.now();
      const moment = { round: cursor.round, beat: cursor.beat, node: selected };
      const pins = S.pinsText(trace());
      return offlinePage(view.source(), pins ? { ...moment, pins } : moment);
    };
    return {
      player: picture(".svp", "player"),
      drawn: picture(".svp-draft svg", "tree"),
      card: picture(".svm", "card"),
      table: () => file(inRound(".md"), "text/markdown", () => S.roundTable(trace(), round()))(),
      graph: () => file(inRound(".graphml"), "application/xml", () => S.treeGraphml(trace(), round()))(),
      page: file("run.html", "text/html", offline),
      lanes: file("lanes.json", "application/json", () => JSON.stringify(S.chromeTrace(trace()))),
      trace: file("trace.json", "application/json", () => view.source()),
    };
  }

  /** `view` has now(), source(), root and say(text). */
  function shareMenu(view) {
    const qr = qrDialog();
    const saves = savers(view);
    const card = cardDialog(view, saves.card);
    const item = (label, act) =>
      h(
        "button",
        {
          type: "button",
          class: "svp-link",
          onclick: async () => {
            menu.open = false;
            menu.querySelector("summary").focus({ preventScroll: true }); // where a dialog gives it back
            try {
              view.say((await act()) || "");
            } catch (error) {
              view.say(`that did not work: ${error.message}`);
            }
          },
        },
        label,
      );
    const group = (title, ...items) => h("div", {}, h("b", {}, title), items);
    const menu = h(
      "details",
      { class: "svp-share" },
      h("summary", { class: "svp-link" }, "share"),
      h(
        "div",
        { class: "svp-share-list" },
        group(
          "this moment",
          item("copy link to this moment", () => S.copyAddress()),
          item("QR code", async () => qr.show(await S.address())),
          item("card with its sentence and link", async () => card.show(await S.address())),
          item("player as PNG", () => saves.player("png")),
          item("player as SVG", () => saves.player("svg")),
          item("tree as PNG", () => saves.drawn("png")),
          item("tree as SVG", () => saves.drawn("svg")),
        ),
        group("this round", item("Markdown table", saves.table), item("tree as GraphML", saves.graph)),
        group(
          "the run",
          item("one HTML file, plays offline", saves.page),
          item("lanes for Perfetto", saves.lanes),
          item("trace", saves.trace),
        ),
      ),
    );
    document.addEventListener("pointerdown", (event) => {
      if (menu.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    return h("span", {}, menu, qr.dialog, card.dialog);
  }

  return { shareMenu, saveFile: save, svgOf, pngOf, offlinePage };
})(SpecViz);
Object.assign(SpecViz, share);
