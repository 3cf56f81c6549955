// The builder of an audience's rules: blocks over the JSON in the text area, which stays the value.
"use strict";

document.addEventListener("alpine:init", () => {
  const Tree = window.RulesTree;
  const Value = window.RuleValue;
  const Kinds = window.RuleKinds;

  Alpine.data("rulesBuilder", () => ({
    ...window.RuleParts,
    tab: "blocks",
    root: null,
    fields: [],
    lists: [],
    audiences: [],
    campaigns: [],
    outcomes: [],
    reasons: [],
    withReason: [],
    scopes: [],
    events: [],
    conditions: [],
    verbs: {},
    state: "loading",
    problems: {},
    said: "",

    init() {
      this.area = this.$root.querySelector("textarea");
      this.words = this.$root.dataset;
      this.read();
      this.area.addEventListener("input", () => {
        if (!this.writing) this.area.dispatchEvent(new Event("rules-changed"));
      });
      this.project()?.addEventListener("change", () => this.load());
      document.addEventListener("htmx:configRequest", (event) => this.send(event));
      document.addEventListener("htmx:beforeSwap", ({ detail }) => {
        // A late answer is about other rules than those that stand here now.
        if (detail.target.id === "count" && this.tab === "blocks" && this.unfinished()) detail.shouldSwap = false;
      });
      document.addEventListener("htmx:afterSwap", (event) => {
        if (event.target.id === "count") this.hear(event.target);
      });
    },

    // --- The value ------------------------------------------------------------------------------

    read() {
      this.root = Tree.parse(this.area.value);
      this.problems = {};
      if (this.root) Tree.write(this.root);
      return this.load();
    },

    changed() {
      this.writing = true;
      this.area.value = JSON.stringify(Tree.write(this.root), null, 2);
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
      this.writing = false;
      this.problems = {};
      if (this.unfinished()) this.sayWhatIsMissing();
      else this.area.dispatchEvent(new Event("rules-changed"));
    },

    // A rule that is being written is not sent: a count waits for it, a question does without.
    send(event) {
      const { elt, parameters } = event.detail;
      if (!this.root || this.tab !== "blocks" || parameters.rules === undefined || !this.unfinished()) return;
      if (elt.id === "count") this.wait(event);
      else parameters.rules = JSON.stringify(Tree.complete(this.root, Value.finished));
    },

    wait(event) {
      event.preventDefault();
      this.sayWhatIsMissing();
    },

    // What was counted is about other rules than those that stand here now.
    sayWhatIsMissing() {
      const count = document.getElementById("count");
      const waits = Object.assign(document.createElement("p"), { className: "c-hint" });
      waits.textContent = count.dataset.unfinished;
      count.replaceChildren(waits);
      this.hear(count);
    },

    unfinished() {
      return this.root ? [...Tree.rules(this.root)].filter((rule) => !Value.finished(rule)).length : 0;
    },

    show(tab) {
      if (this.tab !== tab && tab === "blocks") this.read();
      this.tab = tab;
    },

    otherTab(tab) {
      this.show(tab);
      this.$nextTick(() => this.$root.querySelector(`[data-tab=${tab}]`).focus());
    },

    // --- What may be chosen ---------------------------------------------------------------------

    project() {
      return document.querySelector("#id_project") ?? document.querySelector("[name=project]");
    },

    async load() {
      const query = new URLSearchParams({ project: this.project()?.value ?? "" });
      for (const rule of this.root ? Tree.rules(this.root) : []) {
        const [kind, name] = rule.field.split(".");
        if (kind === "attributes") query.append("asked", name);
      }
      try {
        const reply = await fetch(`${this.words.choices}?${query}`);
        Object.assign(this, await reply.json(), { state: "ready" });
      } catch {
        this.state = "failed"; // the JSON can still be written
      }
    },

    get groups() {
      const names = [...new Set(this.fields.map((field) => field.group))];
      return names.map((name) => ({ name, fields: this.fields.filter((f) => f.group === name) }));
    },

    fieldOf(rule) {
      const known = this.fields.find((field) => field.name === rule.field);
      const label = rule.field.replace("attributes.", "");
      return known ?? { name: rule.field, label, ops: [rule.op], types: ["text"], choices: [] };
    },

    typedValue: (rule) => rule.value ?? "",

    // 1 and "1" are two values.
    keyOf: (exact) => typeof exact + exact,

    opsOf(rule) {
      const { ops } = this.fieldOf(rule);
      return ops.includes(rule.op) || !rule.op ? ops : [...ops, rule.op];
    },

    listed(rule) {
      const { types, choices } = this.fieldOf(rule);
      return { member: this.lists, audience: this.audiences }[types[0]] ?? choices;
    },

    labelled(rule, exact) {
      return this.listed(rule)?.find((one) => one.exact === exact)?.label ?? String(exact);
    },

    fieldLabel(field) {
      if (field.gone) return `${field.label} (${this.words.gone})`;
      const partly = field.percent > 0 && field.percent < 100;
      return partly ? `${field.label} (${field.percent} %)` : field.label;
    },

    // --- Groups ---------------------------------------------------------------------------------

    draw(place) {
      const drawn = document.getElementById("rules-group").content.cloneNode(true);
      Alpine.mutateDom(() => place.append(drawn));
      for (const child of place.children) Alpine.initTree(child);
    },

    canNest(group) {
      return Tree.levelInside(this.root, group) < Number(this.words.levels);
    },

    addRule(group) {
      group.children.push(Tree.rule());
      this.say(this.words.ruleAdded);
      this.changed();
      this.focus(group.children.at(-1));
    },

    addGroup(group) {
      group.children.push(Tree.group("any", [Tree.rule()]));
      this.say(this.words.groupAdded);
      this.changed();
      this.focus(group.children.at(-1).children[0]);
    },

    // “plan is pro and city is Seoul” becomes “plan is pro and (city is Seoul or …)”.
    wrap(group, index) {
      const rule = group.children[index];
      group.children[index] = Tree.group("any", [rule]);
      this.say(this.words.groupAdded);
      this.changed();
      this.focus(rule);
    },

    remove(group, index) {
      group.children.splice(index, 1);
      this.say(this.words.removed);
      this.changed();
      this.focusAfter(group, index);
    },

    dissolve(group, parent) {
      const index = parent.children.findIndex((child) => child.id === group.id);
      parent.children.splice(index, 1, ...group.children);
      this.say(this.words.dissolved);
      this.changed();
      this.focusAfter(parent, index + 1);
    },

    setWord(group, word) {
      group.word = word;
      this.changed();
    },

    say(text) {
      this.said = text;
    },

    focus(node) {
      this.$nextTick(() => this.$nextTick(() =>
        document.querySelector(`#node-${node.id} select`)?.focus()));
    },

    focusAfter(group, index) {
      const before = group.children[index - 1] ?? group.children[0];
      if (before) this.focus(before);
      else this.$nextTick(() => document.getElementById(`add-${group.id}`)?.focus());
    },

    // --- Rules ----------------------------------------------------------------------------------

    asked(rule) {
      return Value.asked(rule, this.fieldOf(rule));
    },

    setField(rule, name) {
      Object.assign(rule, { field: name, value: Kinds.start(name), typed: "", suggested: [] });
      rule.properties = [];
      rule.op = Value.defaultOp(this.fieldOf(rule));
      if (this.asked(rule) === "chips" || this.asked(rule) === "picks") rule.value = [];
      this.changed();
      this.keepInSight(rule);
    },

    // Its parts, once they are drawn, make it taller than the line it was.
    keepInSight(rule) {
      this.$nextTick(() => requestAnimationFrame(() =>
        document.getElementById(`node-${rule.id}`)?.scrollIntoView({ block: "nearest" })));
    },

    // It looks for somebody who stays away, and asks each of their devices by itself.
    asksDevices: (rule) => Tree.asksDevices(rule),

    askPerson(rule) {
      rule.field = "person_seen_at";
      this.say(this.words.askedPerson);
      this.changed();
      this.focus(rule);
    },

    setOp(rule, op) {
      Value.changeOp(rule, op);
      this.changed();
    },

    setValue(rule, text) {
      rule.value = Value.typed(text, rule, this.fieldOf(rule));
      this.changed();
    },

    typed(rule, text) {
      this.suggest(rule, text);
      this.setValue(rule, text);
    },

    setDate(rule, day) {
      rule.value = day || null;
      this.changed();
    },

    setYes(rule, word) {
      rule.value = word === "true";
      this.changed();
    },

    setNumber(rule, text) {
      rule.value = text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text);
      this.changed();
    },

    setExact(rule, index) {
      rule.value = index === "" ? null : this.listed(rule)[Number(index)].exact;
      this.changed();
    },

    setSpan(rule, count, unit) {
      rule.value = Value.asSpan(count, unit);
      this.changed();
    },

    span: (rule) => Value.span(rule.value),

    // A value chosen from the suggestions is taken at once; a typed one by Enter, comma or leaving.
    typing(rule, event) {
      rule.typed = event.target.value;
      this.suggest(rule, rule.typed);
      const chosen = !event.inputType || event.inputType === "insertReplacementText";
      const known = rule.suggested.some((one) => String(one.exact) === rule.typed);
      if ((chosen && known) || rule.typed.endsWith(",")) this.addChip(rule);
    },

    addChip(rule) {
      for (const text of rule.typed.split(",").map((one) => one.trim()).filter(Boolean)) {
        const value = Value.typed(text, rule, this.fieldOf(rule));
        if (!rule.value?.includes(value)) rule.value = [...(rule.value ?? []), value];
      }
      if (rule.typed) this.changed();
      rule.typed = "";
    },

    addPick(rule, select) {
      if (select.value === "") return;
      const { exact } = this.listed(rule)[Number(select.value)];
      select.value = "";
      if (!rule.value?.includes(exact)) rule.value = [...(rule.value ?? []), exact];
      this.changed();
    },

    removeChip(rule, index) {
      rule.value = rule.value.filter((_, at) => at !== index);
      this.say(this.words.removed);
      this.changed();
      this.$nextTick(() => document.querySelector(`#node-${rule.id} [data-adds]`)?.focus());
    },

    suggest(rule, typed = "") {
      clearTimeout(rule.waiting);
      rule.waiting = setTimeout(async () => {
        const project = this.project()?.value ?? "";
        const query = new URLSearchParams({ project, field: rule.field, typed });
        try {
          const reply = await fetch(`${this.words.values}?${query}`);
          rule.suggested = (await reply.json()).values;
        } catch {
          rule.suggested = []; // one can type without them
        }
      }, typed ? 250 : 0);
    },

    // --- What the server said -------------------------------------------------------------------

    hear(count) {
      this.problems = {};
      for (const one of count.querySelectorAll("[data-path]")) {
        this.problems[one.dataset.path] = one.dataset.short;
      }
      const status = document.getElementById("count-said");
      if (status) status.textContent = count.querySelector("[data-said]")?.dataset.said ?? "";
    },

    problemOf(node) {
      const said = this.problems[node.path] ?? "";
      return said && !node.children && !Value.finished(node) ? this.words.unfinished : said;
    },
  }));
});
