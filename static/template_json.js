// Forms in front of the JSON that is stored: languages as tabs, options as fields, data as rows.
// The textarea stays the one truth: each change is written into it, and whatever is typed there is
// read back. What a form does not know is kept as it is. Without a script, the textarea is there.
"use strict";

(() => {
  /** What every such form shares: `value` is what the textarea says, or the last it could say. */
  const backed = (nothing = () => ({})) => ({
    value: nothing(),
    unreadable: false,
    area: null, // named here, or Alpine would put it on the page's own data, where all share it
    writing: false,

    init() {
      this.area = this.$root.querySelector("textarea[name]");
      this.area.addEventListener("input", () => this.read());
      this.read();
      if (!this.unreadable) this.$root.querySelector("details.t-json")?.removeAttribute("open");
      this.ready?.();
    },

    read() {
      try {
        const read = JSON.parse(this.area.value.trim() || JSON.stringify(nothing()));
        const isOther = read === null || typeof read !== "object";
        this.unreadable = isOther || Array.isArray(read) !== Array.isArray(nothing());
        if (!this.unreadable) this.value = read;
      } catch {
        this.unreadable = true;
      }
    },

    keep() {
      this.area.value = JSON.stringify(this.value, null, 2);
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
    },
  });

  // pt-BR, zh-Hant: as the server writes it when it saves.
  const canonical = (tag) => tag.split(/[-_]/).map((part, at) => {
    const small = part.toLowerCase();
    if (at && /^[a-z]{4}$/.test(small)) return small[0].toUpperCase() + small.slice(1);
    return at && part.length === 2 ? part.toUpperCase() : small;
  }).join("-");

  const languages = () => ({
    ...backed(),
    shown: "",
    adding: "",
    trouble: "",
    wrong: [],
    buttons: [], // of the main text: a language has titles of its own for them

    ready() {
      document.addEventListener("template:problems", (event) => (this.wrong = [...event.detail]));
      document.addEventListener("template:show", (event) => this.show(event.detail));
    },

    get tags() {
      return Object.keys(this.value).sort();
    },

    nameOf(tag) {
      try {
        const names = new Intl.DisplayNames([document.documentElement.lang], { type: "language" });
        return names.of(canonical(tag));
      } catch {
        return tag;
      }
    },

    show(tag) {
      this.shown = tag in this.value ? tag : "";
      this.buttons = buttonsOfTheMainText();
      this.area.form.classList.toggle("t-translating", this.shown !== "");
      this.$nextTick(() => document.dispatchEvent(new CustomEvent("template:language")));
    },

    /** Left and right, home and end: as in every list of tabs. */
    move(event) {
      const all = ["", ...this.tags];
      const at = all.indexOf(this.shown);
      const to = {
        ArrowLeft: (at + all.length - 1) % all.length,
        ArrowRight: (at + 1) % all.length,
        Home: 0,
        End: all.length - 1,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.show(all[to]);
      this.$nextTick(() => document.getElementById(`t-tab-${all[to]}`).focus());
    },

    text(name) {
      return this.value[this.shown]?.[name] ?? "";
    },

    main(name) {
      return this.shown ? document.getElementById(`id_${name}`).value : "";
    },

    write(name, text) {
      const texts = { ...this.value[this.shown], [name]: text };
      if (text === "") delete texts[name];
      this.value = { ...this.value, [this.shown]: texts };
      this.keep();
    },

    titleOf(id) {
      return this.value[this.shown]?.buttons?.[id] ?? "";
    },

    writeTitle(id, title) {
      const { buttons: before, ...texts } = this.value[this.shown];
      const { [id]: _gone, ...others } = before ?? {};
      const titles = title === "" ? others : { ...others, [id]: title };
      const own = Object.keys(titles).length ? { ...texts, buttons: titles } : texts;
      this.value = { ...this.value, [this.shown]: own };
      this.keep();
    },

    add() {
      const typed = this.adding.trim();
      this.trouble = "";
      if (!/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$/.test(typed)) {
        this.trouble = this.$root.dataset.noTag;
        return;
      }
      const there = this.tags.find((one) => canonical(one) === canonical(typed));
      const tag = there ?? canonical(typed);
      if (!there) {
        this.value = { ...this.value, [tag]: {} };
        this.keep();
      }
      this.adding = "";
      this.show(tag);
      this.$nextTick(() => document.querySelector("#t-panel [data-counted]").focus());
    },

    remove() {
      const texts = this.value[this.shown];
      if (Object.keys(texts).length && !window.confirm(this.$root.dataset.reallyRemove)) return;
      const { [this.shown]: _gone, ...rest } = this.value;
      this.value = rest;
      this.keep();
      this.show("");
    },
  });

  function buttonsOfTheMainText() {
    try {
      const read = JSON.parse(document.getElementById("id_buttons").value.trim() || "[]");
      return Array.isArray(read) ? read.filter((one) => one?.id) : [];
    } catch {
      return []; // a page of texts that have none, or they cannot be read now
    }
  }

  const options = () => ({
    ...backed(),

    get(platform, name) {
      const value = this.value[platform]?.[name];
      return value === undefined ? "" : String(value);
    },

    set(platform, name, typed, kind) {
      const own = { ...this.value[platform] };
      if (typed === "") delete own[name];
      else if (kind === "flag") own[name] = typed === "true";
      else own[name] = kind === "number" && /^\d+$/.test(typed) ? Number(typed) : typed;
      this.value = { ...this.value, [platform]: own };
      if (!Object.keys(own).length) delete this.value[platform];
      this.keep();
    },

    /** All that is set on a platform, with a field here or without. */
    said(platform) {
      const own = Object.entries(this.value[platform] ?? {});
      const plain = (value) => (typeof value === "object" ? "…" : value);
      return own.map(([name, value]) => `${name}: ${plain(value)}`).join(", ");
    },
  });

  /** Rows in front of the JSON. While they write it, they are not drawn anew from it. */
  const inRows = (nothing) => ({
    ...backed(nothing),
    rows: [],

    ready() {
      this.fill();
      this.area.addEventListener("input", () => this.writing || this.fill());
    },

    remove(at) {
      this.rows.splice(at, 1);
      this.write();
    },

    keepRows() {
      this.writing = true;
      this.keep();
      this.writing = false;
    },
  });

  const buttons = () => ({
    ...inRows(() => []),

    fill() {
      const text = (one) => (typeof one === "string" ? one : "");
      this.rows = this.value.map((one) => ({ id: text(one?.id), title: text(one?.title), link: text(one?.link) }));
    },

    get mayAdd() {
      return this.rows.length < Number(this.$root.dataset.most);
    },

    write() {
      this.value = this.rows.map(({ id, title, link }) => (link ? { id, title, link } : { id, title }));
      this.keepRows();
    },

    add() {
      const taken = new Set(this.rows.map(({ id }) => id));
      const id = ["open", "more", "later", "other"].find((one) => !taken.has(one));
      this.rows.push({ id, title: "", link: "" });
      this.write();
      this.$nextTick(() => [...this.$root.querySelectorAll(".t-button")].at(-1)?.querySelector("input").focus());
    },
  });

  const pairs = () => ({
    ...inRows(() => ({})),

    fill() {
      this.rows = Object.entries(this.value).map(([key, text]) => ({ key, text }));
    },

    /** A number is not a text; it stays as it is until somebody types over it. */
    write() {
      const named = this.rows.filter(({ key }) => key !== "");
      this.value = Object.fromEntries(named.map(({ key, text }) => [key, text]));
      this.keepRows();
    },

    add() {
      this.rows.push({ key: "", text: "" });
      this.$nextTick(() => [...this.$root.querySelectorAll(".t-pair input")].at(-2)?.focus());
    },
  });

  document.addEventListener("alpine:init", () => {
    window.Alpine.data("languages", languages);
    window.Alpine.data("platformOptions", options);
    window.Alpine.data("pairs", pairs);
    window.Alpine.data("buttons", buttons);
  });
})();
