/* Charts as files and links. Plotly draws them and makes its own pictures; here they get the page's ground and a
   name. A link
   is the page's address with the tab and the chart in its query, which the server reads when the page opens. */
// needs: dom
/** @typedef {HTMLElement & { data: object[], layout: { font: object } }} Plot what plotly has drawn */

const charts = (function (S) {
  "use strict";

  const SCALE = { png: 2, svg: 1 };
  const SPACES = "https://huggingface.co";

  /** Pure: the address of this page with these choices, everything else in its query left as it is. */
  function linkTo(address, choices) {
    const url = new URL(address);
    for (const [name, value] of Object.entries(choices)) url.searchParams.set(name, value);
    return url.href;
  }

  /** Save the chart inside the element with this id, as large as it is on the page. */
  async function saveChart(id, format, name) {
    const drawn = /** @type {Plot | null} */ (document.querySelector(`#${id} .js-plotly-plot`));
    if (!drawn || !globalThis.Plotly) return;
    const { width, height } = drawn.getBoundingClientRect();
    const page = getComputedStyle(document.body);
    const layout = {
      ...drawn.layout,
      paper_bgcolor: page.backgroundColor,
      font: { ...drawn.layout.font, color: page.color },
    };
    const filename = `specviz-${name}`;
    await globalThis.Plotly.downloadImage(
      { data: drawn.data, layout },
      { format, filename, width, height, scale: SCALE[format] },
    );
  }

  /** Save a file that the server has made; nothing where it has made none. */
  function takeAway(file) {
    if (!file?.url) return;
    const link = document.createElement("a");
    Object.assign(link, { href: file.url, download: file.orig_name ?? "" });
    link.click();
  }

  /** Put the chart into the page's address and onto the clipboard; the sentence says which of the two worked. */
  async function shareChart(name) {
    const url = linkTo(location.href, { tab: "when-it-pays", chart: name });
    history.replaceState(history.state, "", url);
    if (window.parent !== window) window.parent.postMessage({ queryString: new URL(url).search.slice(1) }, SPACES);
    return (await S.copyText(url))
      ? '<p class="sv-note">The link to this chart is on the clipboard, and in the address bar.</p>'
      : '<p class="sv-note">The address bar now has the link to this chart; copy it from there.</p>';
  }

  return { linkTo, saveChart, shareChart, takeAway };
})(SpecViz);
Object.assign(SpecViz, charts);
