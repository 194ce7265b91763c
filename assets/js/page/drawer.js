/* The page's drawer of controls, beside the player: opens and closes without a server, by button and by Escape; the
   bar, which on a phone shows all of itself once something in it has had the focus; and the place of what the page
   offers about a node: at the card that was clicked. */
// needs: nothing
const drawer = (function () {
  "use strict";

  const drawer = () => document.getElementById("sv-drawer");
  const opener = () => document.getElementById("sv-settings");

  let listening = false;

  function toggleDrawer(open = !drawer().classList.contains("sv-open")) {
    if (!listening) document.addEventListener("keydown", byKey);
    listening = true;
    drawer().classList.toggle("sv-open", open);
    opener().setAttribute("aria-expanded", String(open));
    opener().setAttribute("aria-controls", "sv-drawer");
    if (open) drawer().querySelector("button, input, textarea").focus({ preventScroll: true });
    else opener().focus({ preventScroll: true });
  }

  /** Close it where it covers the whole window, as on a phone: behind it stands what was opened from it, or why not. */
  function uncover() {
    if (drawer().classList.contains("sv-open") && drawer().offsetWidth >= innerWidth) toggleDrawer(false);
  }

  /** Lay the offer to continue over the card whose token was clicked, in sight. */
  function placeOffer() {
    const offer = document.querySelector(".sv-branch");
    const card = document.querySelector("#sv-player .svp-card");
    if (!offer || !card) return;
    const frame = offer.offsetParent.getBoundingClientRect();
    const at = card.getBoundingClientRect();
    const low = Math.min(at.bottom, Math.max(at.top + 120, innerHeight)) - offer.offsetHeight - 8;
    offer.style.left = `${at.left - frame.left}px`;
    offer.style.width = `${at.width}px`;
    offer.style.top = `${Math.max(at.top, low) - frame.top}px`;
    offer.scrollIntoView({ block: "nearest" });
    offer.querySelector("button").focus({ preventScroll: true });
  }

  function byKey(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const isOpen = !!drawer() && drawer().classList.contains("sv-open");
    const isChoosing = !!event.target.closest("[role=listbox], input[aria-expanded=true]");
    if (!isOpen || isChoosing || document.querySelector("dialog[open]")) return;
    toggleDrawer(false);
  }

  if (globalThis.document)
    document.addEventListener("focusin", (event) => {
      const bar = event.target instanceof Element ? event.target.closest(".sv-bar") : null;
      if (bar) bar.dataset.open = "1"; // and it stays so: nothing may move under a finger that leaves it
    });

  return { toggleDrawer, uncover, placeOffer };
})();
Object.assign(SpecViz, drawer);
