// The tree of rules as the builder holds it, from and to the JSON that is saved. A group is
// all, any, none (not any) or not_all; every node remembers its place, to find it when the server
// names one: “rules.all[1].value”.
"use strict";

window.RulesTree = (() => {
  let last = 0;
  const rule = (field = "", op = "", value = null) => ({
    id: ++last, field, op, value, typed: "", suggested: [], properties: [], path: "",
  });
  const group = (word, children = []) => ({ id: ++last, word, children, path: "" });

  class Unreadable extends Error {}

  // Deeper than anything that may be saved, and than a page can be drawn.
  const DEEPEST = 32;

  function listOf(value, level) {
    if (!Array.isArray(value)) throw new Unreadable();
    return value.map((inner) => read(inner, level));
  }

  function read(tree, level = 0) {
    if (level > DEEPEST) throw new Unreadable();
    if (tree === null || typeof tree !== "object" || Array.isArray(tree)) throw new Unreadable();
    const keys = Object.keys(tree);
    if (keys.length === 1 && keys[0] === "all") return group("all", listOf(tree.all, level + 1));
    if (keys.length === 1 && keys[0] === "any") return group("any", listOf(tree.any, level + 1));
    if (keys.length === 1 && keys[0] === "not") return turned(tree.not, level + 1);
    if (typeof tree.field !== "string" || typeof tree.op !== "string") throw new Unreadable();
    return rule(tree.field, tree.op, tree.value ?? null);
  }

  function turned(inner, level) {
    const node = read(inner, level);
    if (node.word === "any") return group("none", node.children);
    if (node.word === "all") return group("not_all", node.children);
    return group("none", [node]);
  }

  // The outermost is always a group, so that there is somewhere to add to.
  function parse(text) {
    try {
      const node = read(text.trim() ? JSON.parse(text) : { all: [] });
      return node.children ? node : group("all", [node]);
    } catch (error) {
      if (error instanceof Unreadable || error instanceof SyntaxError) return null;
      throw error;
    }
  }

  function write(node, path = "rules") {
    node.path = path;
    if (!node.children) return written(node);
    const inner = (word, start) => ({
      [word]: node.children.map((child, index) => write(child, `${start}.${word}[${index}]`)),
    });
    if (node.word === "all" || node.word === "any") return inner(node.word, path);
    const [only, ...more] = node.children;
    if (node.word === "none" && only && !more.length && !only.children) {
      return { not: write(only, `${path}.not`) };
    }
    return { not: inner(node.word === "none" ? "any" : "all", `${path}.not`) };
  }

  function written(node) {
    const leaf = { field: node.field, op: node.op };
    return ["exists", "not_exists"].includes(node.op) ? leaf : { ...leaf, value: node.value };
  }

  // What can be counted of a tree that somebody is at work on; nothing of it is changed.
  function complete(node, finished) {
    const kept = (group) => ({
      ...group,
      children: group.children
        .filter((child) => child.children || finished(child))
        .map((child) => (child.children ? kept(child) : { ...child })),
    });
    return write(kept(node));
  }

  function* rules(node) {
    if (!node.children) yield node;
    else for (const child of node.children) yield* rules(child);
  }

  // As the server's seen/person.py has it: “not seen since” of a device, which may be an old one.
  function asksDevices(rule) {
    if (rule.field !== "last_seen_at") return false;
    const turned = (rule.path.match(/\.not/g) ?? []).length % 2 === 1;
    return (turned ? ["within_last", "after"] : ["before"]).includes(rule.op);
  }

  // On which level the children of `wanted` stand; a “not” is a level of its own.
  function levelInside(node, wanted, level = 1) {
    const inside = level + (node.word === "all" || node.word === "any" ? 1 : 2);
    if (node.id === wanted.id) return inside;
    for (const child of node.children ?? []) {
      const found = child.children && levelInside(child, wanted, inside);
      if (found) return found;
    }
    return 0;
  }

  return { rule, group, parse, write, complete, rules, asksDevices, levelInside };
})();
