// What the pages' Alpine attributes ask for by name. Alpine's CSP build (static/alpine) reads simple
// expressions by itself and calls no global: whatever Unfold's templates call stands here.
"use strict";

document.addEventListener("alpine:init", () => {
  Alpine.data("theme", (chosen) => window.theme(chosen));
  Alpine.data("searchForm", () => window.searchForm());

  /** The address as Unfold's forms and page links use it; Alpine hands out no real `window`. */
  const address = {
    get pathname() { return location.pathname; },
    get search() { return location.search; },
    get hash() { return location.hash; },
    set href(to) { location.assign(to); },
  };

  Alpine.data("page", (firstTab) => ({
    window: { location: address },
    activeTab: firstTab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem("sidebarDesktopOpen") !== "0",

    init() {
      this.activeTab = (firstTab && window.getCurrentTab()) || firstTab;
      this.$watch("sidebarDesktopOpen", (open) =>
        localStorage.setItem("sidebarDesktopOpen", open ? "1" : "0"));
    },
  }));
});
