// A rule's value: how it is asked for, and which type what was typed has.
"use strict";

window.RuleValue = (() => {
  const SPAN = /^P(?:(\d+)([DW])|T(\d+)H)$/;
  const DAY = /^\d{4}-\d{2}-\d{2}$/;
  const DEFAULTS = {
    number: "gte", version: "gte", text: "in", list: "has_any", audience: "in",
  };

  const many = (op) => ["in", "not_in", "has_any", "has_none"].includes(op);
  const oneOf = (field, ...types) => types.includes(field.types[0]);

  // none, a kind's own, chips, picks, pick, yesno, number, date, span or text
  function asked(rule, field) {
    const { op, value } = rule;
    if (op === "exists" || op === "not_exists") return "none";
    if (window.RuleKinds.isOne(rule)) return rule.field;
    const listed = oneOf(field, "choice", "member", "audience");
    if (many(op)) return listed ? "picks" : "chips";
    if (listed) return "pick";
    if (op === "within_last") return value === null || SPAN.test(value) ? "span" : "text";
    if (op === "before" || op === "after") return value === null || DAY.test(value) ? "date" : "text";
    if (["gt", "gte", "lt", "lte"].includes(op)) return oneOf(field, "version") ? "text" : "number";
    if (op === "contains" || op === "starts_with" || field.types.length > 1) return "text";
    if (field.types[0] === "boolean") return "yesno";
    return field.types[0] === "number" ? "number" : "text";
  }

  // 5 is not “5”: a value somebody has keeps its type, else the field's type decides.
  function typed(text, rule, field) {
    if (text === "") return null;
    if (["contains", "starts_with"].includes(rule.op)) return text;
    const known = rule.suggested.find((one) => String(one.exact) === text);
    if (known) return known.exact;
    if (field.types.includes("text")) return text;
    if (field.types.includes("number") && Number.isFinite(Number(text))) return Number(text);
    if (field.types.includes("boolean") && ["true", "false"].includes(text)) return text === "true";
    return text;
  }

  function finished(rule) {
    if (!rule.field || !rule.op) return false;
    if (rule.op === "exists" || rule.op === "not_exists") return true;
    if (window.RuleKinds.isOne(rule)) return window.RuleKinds.finished(rule);
    return Array.isArray(rule.value) ? rule.value.length > 0 : rule.value !== null;
  }

  const ALIKE = [
    ["eq", "ne", "in", "not_in"], ["gt", "gte", "lt", "lte"], ["before", "after"],
    ["contains", "starts_with"], ["has", "has_any", "has_none"],
  ];

  // “is” and “is one of” ask for the same; whatever else is compared, the old value fits no more.
  function changeOp(rule, op) {
    if (window.RuleKinds.isOne(rule)) {
      rule.op = op;
      return;
    }
    const alike = ALIKE.some((ops) => ops.includes(op) && ops.includes(rule.op));
    const old = Array.isArray(rule.value) ? rule.value : rule.value === null ? [] : [rule.value];
    rule.op = op;
    if (!alike) rule.value = many(op) ? [] : null;
    else rule.value = many(op) ? old : old[0] ?? null;
  }

  function defaultOp(field) {
    const wanted = DEFAULTS[field.types[0]];
    return field.ops.includes(wanted) ? wanted : field.ops[0];
  }


  function span(value) {
    const [, count, unit, hours] = SPAN.exec(value ?? "") ?? [];
    return { count: count ?? hours ?? "", unit: unit ?? (hours ? "H" : "D") };
  }

  function asSpan(count, unit) {
    const whole = Number.parseInt(count, 10);
    if (!(whole >= 0)) return null;
    return unit === "H" ? `PT${whole}H` : `P${whole}${unit}`;
  }

  return { asked, typed, finished, changeOp, defaultOp, span, asSpan };
})();
