// Rules that look beyond a person's row: their value is an object, asked for in several parts.
"use strict";

window.RuleKinds = (() => {
  const DAYS = /^P(\d+)D$/;
  const NONE = ["exists", "not_exists"];
  const NUMBERS = ["gt", "gte", "lt", "lte"];
  const seed = () => Math.random().toString(36).slice(2, 7);

  // What a new rule says, of a field that is one of these.
  const STARTS = {
    run: () => ({ outcome: "accepted", run: "last" }),
    event: () => ({ name: "" }),
    random: () => ({ percent: 10, seed: seed() }),
    people: () => ({ most: 1000, seed: seed() }),
  };

  const start = (field) => STARTS[field]?.() ?? null;

  const FINISHED = {
    run: (value) => value.campaign !== null && value.run !== null,
    event: (value) => value.name !== "" && (value.where ?? []).every(told),
    random: (value) => value.percent > 0 && value.percent <= 100,
    people: (value) => value.most >= 1,
  };

  const told = (one) => one.property !== "" && (NONE.includes(one.op) || (one.value ?? "") !== "");

  const isOne = (rule) => rule.field in FINISHED;
  const finished = (rule) => rule.value !== null && FINISHED[rule.field](rule.value);

  // Without what was left empty: the server takes a key with nothing in it for a mistake.
  function set(value, key, part) {
    const { [key]: _, ...rest } = value;
    return part === "" || part === undefined ? rest : { ...rest, [key]: part };
  }

  const whole = (text) => (/^\d+$/.test(text.trim()) ? Number(text) : "");

  const days = (value) => DAYS.exec(value.within ?? "")?.[1] ?? "";

  // --- Of past runs -----------------------------------------------------------------------------

  function scope({ run, campaign }) {
    if (run === "last") return campaign === undefined ? "last" : "last_of";
    if (run !== undefined) return "run";
    return campaign === undefined ? "any" : "campaign";
  }

  function setScope(value, to) {
    const { run, campaign, at_least, ...rest } = value;
    const of = to === "last_of" || to === "campaign" ? { campaign: campaign ?? null } : {};
    const last = to === "last" || to === "last_of" ? { run: "last" } : {};
    const times = last.run || at_least === undefined ? {} : { at_least };
    return { ...rest, ...of, ...last, ...times };
  }

  // --- Of events --------------------------------------------------------------------------------

  const condition = () => ({ property: "", op: "eq", value: "" });

  function withCondition(value, index, changes) {
    const where = value.where.map((one, at) => (at === index ? { ...one, ...changes } : one));
    if (NONE.includes(where[index].op)) delete where[index].value;
    return { ...value, where };
  }

  function withoutCondition(value, index) {
    const where = value.where.filter((_, at) => at !== index);
    return set(value, "where", where.length ? where : undefined);
  }

  // 5 is not “5”: the operator says what is meant, else the type that the events have.
  function typed(text, op, types) {
    const number = NUMBERS.includes(op) || (types.includes("number") && !types.includes("text"));
    if (text !== "" && number && Number.isFinite(Number(text))) return Number(text);
    if (types[0] === "boolean" && ["true", "false"].includes(text)) return text === "true";
    return NUMBERS.includes(op) ? "" : text;
  }

  return {
    start, isOne, finished, set, whole, days, scope, setScope,
    condition, withCondition, withoutCondition, typed,
  };
})();
