// What the builder does for a rule with several parts: an event with its conditions, a run with its
// outcome, a share of the people. Each part is a member of the rule's value.
"use strict";

window.RuleParts = (() => {
  const Kinds = window.RuleKinds;

  return {
    part: (rule, key) => rule.value?.[key] ?? "",

    setPart(rule, key, part) {
      rule.value = Kinds.set(rule.value, key, part);
      this.changed();
    },

    setWhole(rule, key, text) {
      this.setPart(rule, key, Kinds.whole(text));
    },

    setPercent(rule, text) {
      this.setPart(rule, "percent", Number(text) > 0 ? Number(text) : 0);
    },

    setMost(rule, text) {
      this.setPart(rule, "most", Kinds.whole(text) || 0);
    },

    daysOf: (rule) => Kinds.days(rule.value),

    setDays(rule, text) {
      const days = Kinds.whole(text);
      this.setPart(rule, "within", days === "" ? "" : `P${days}D`);
    },

    scopeOf: (rule) => Kinds.scope(rule.value),

    setScope(rule, scope) {
      rule.value = Kinds.setScope(rule.value, scope);
      this.changed();
    },

    isOfCampaign(rule) {
      return ["last_of", "campaign"].includes(this.scopeOf(rule));
    },

    setCampaign(rule, id) {
      this.setPart(rule, "campaign", Number(id));
    },

    setOutcome(rule, outcome) {
      const { reason, variable, can_tell, ...rest } = rule.value;
      rule.value = { ...rest, outcome };
      this.changed();
    },

    setReason(rule, reason) {
      const { variable, ...rest } = rule.value;
      rule.value = rest;
      this.setPart(rule, "reason", reason);
    },

    hasReason(rule) {
      return this.withReason.includes(this.part(rule, "outcome"));
    },

    asksWhoTells(rule) {
      return this.part(rule, "outcome") === "not_opened";
    },

    setTelling(rule, telling) {
      this.setPart(rule, "can_tell", telling === "can_tell" || "");
    },

    conditionsOf: (rule) => rule.value?.where ?? [],

    addCondition(rule) {
      rule.value = { ...rule.value, where: [...this.conditionsOf(rule), Kinds.condition()] };
      this.learn(rule);
      this.changed();
      this.$nextTick(() => this.$nextTick(() =>
        [...document.querySelectorAll(`#node-${rule.id} [data-property]`)].at(-1)?.focus()));
    },

    setCondition(rule, index, key, text) {
      const old = this.conditionsOf(rule)[index];
      const next = { ...old, [key]: text };
      const { types } = rule.properties?.find((one) => one.name === next.property) ?? { types: [] };
      const value = Kinds.typed(String(next.value ?? ""), next.op, types);
      rule.value = Kinds.withCondition(rule.value, index, { ...next, value });
      this.changed();
    },

    takesNone: (condition) => ["exists", "not_exists"].includes(condition.op),

    removeCondition(rule, index) {
      rule.value = Kinds.withoutCondition(rule.value, index);
      this.say(this.words.removed);
      this.changed();
      this.$nextTick(() => document.querySelector(`#node-${rule.id} [data-adds]`)?.focus());
    },

    // Which properties the event has, to suggest them and to know their types.
    async learn(rule) {
      const query = new URLSearchParams({
        project: this.project()?.value ?? "", field: "event", typed: this.part(rule, "name"),
      });
      try {
        const reply = await fetch(`${this.words.values}?${query}`);
        rule.properties = (await reply.json()).properties ?? [];
      } catch {
        rule.properties = []; // they can be typed
      }
    },
  };
})();
