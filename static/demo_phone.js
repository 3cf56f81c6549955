// A phone in the page. What an app would do, it does by the API of a person's own app: register
// the phone, listen to the inbox, mark what is read. what rings it, the emulator tells.
"use strict";

const ASK = 1000; // milliseconds between two looks at what rang
const API = "/api/v1/me";
const csrf = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

class Phone {
  constructor(section) {
    this.section = section;
    this.items = new Map();
    this.rung = new Map(); // by tag: the last one lies over those before it
    this.after = Number(section.dataset.now);
    this.problems = {}; // by what was tried: what works again takes back its own
    this.part("on").addEventListener("click", () => this.turnOn());
    this.part("lock").addEventListener("click", () => this.lock());
    this.part("unlock").addEventListener("click", () => this.unlock());
    this.part("write").addEventListener("submit", (event) => this.write(event));
    for (const tab of section.querySelectorAll("[data-tab]")) {
      tab.addEventListener("click", () => this.show(tab.dataset.tab));
      tab.addEventListener("keydown", (event) => {
        if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
        this.show(tab.dataset.tab === "chat" ? "inbox" : "chat");
        section.querySelector("[aria-selected=true]").focus();
      });
    }
    if (sessionStorage.getItem(this.memory)) this.turnOn();
  }

  get memory() { return `demo-phone-${this.section.dataset.phone}`; }
  get state() { return this.section.dataset.state; }
  set state(state) { this.section.dataset.state = state; }
  part(name) { return this.section.querySelector(`[data-part="${name}"]`); }

  complain(about, words = "") {
    this.problems[about] = words;
    const said = new Set(Object.values(this.problems).filter(Boolean));
    this.part("problem").textContent = [...said].join(" ");
  }

  // --- asking

  async pages(address, values) {
    const form = new URLSearchParams({ ...values, csrfmiddlewaretoken: csrf() });
    const answer = await fetch(address, values && { method: "POST", body: form });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.problem ?? this.section.dataset.away);
    return said;
  }

  async me(path, method = "GET", body = undefined) {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const answer = await fetch(`${API}/${path}`, { method, headers, body: body && JSON.stringify(body) });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.detail ?? this.section.dataset.away);
    return said;
  }

  // Whatever is refused or lost is said on the phone, and breaks nothing.
  async trying(about, work) {
    try {
      await work();
      this.complain(about);
      return true;
    } catch (error) {
      this.complain(about, error instanceof TypeError ? this.section.dataset.away : error.message);
      return false;
    }
  }

  // --- switched on, locked, unlocked

  turnOn() {
    return this.trying("on", async () => {
      const { token, address } = await this.pages(this.section.dataset.onUrl, {});
      this.token = token;
      await this.me("devices", "POST", { token: address, platform: "web", app_version: "demo" });
      sessionStorage.setItem(this.memory, "on");
      this.unlock();
      this.look();
    });
  }

  lock() {
    this.state = "locked";
    this.stream?.close();
    this.stream = undefined;
    clearTimeout(this.again);
    this.part("clock").textContent = time(new Date());
    this.part("unlock").focus();
  }

  unlock() {
    this.state = "open";
    this.rung.clear();
    this.drawRings();
    this.listen();
    this.part("write").words.focus({ preventScroll: true });
  }

  async listen() {
    clearTimeout(this.again);
    let stream;
    const asked = async () => {
      const { url } = await this.me("inbox/ticket", "POST");
      if (this.state !== "open") return;
      this.stream?.close();
      stream = this.stream = new EventSource(url);
    };
    const comeBack = () => {
      if (stream) stream.onerror = null;
      stream?.close();
      if (this.state !== "open" || (stream && stream !== this.stream)) return;
      this.again = setTimeout(() => this.listen(), 1000 + 2000 * Math.random());
    };
    if (!await this.trying("inbox", asked)) return comeBack();
    if (!stream) return; // locked meanwhile
    stream.addEventListener("item", (event) => this.keep([JSON.parse(event.data)]));
    stream.addEventListener("counts", (event) => this.count(JSON.parse(event.data)));
    stream.addEventListener("gap", () => this.trying("inbox", () => this.readList()));
    stream.onopen = () => this.trying("inbox", () => this.readList()); // then nothing is missed
    stream.onerror = comeBack; // its ticket is too old by now: come back with another
  }

  async readList() {
    const { results } = await this.me("inbox?limit=50");
    this.items.clear();
    this.keep(results);
    this.count(await this.me("inbox/counts"));
  }

  // --- the inbox and the chat

  keep(found) {
    for (const item of found) this.items.set(item.id, item);
    const all = [...this.items.values()].filter((item) => !item.archived_at);
    all.sort((a, b) => a.id - b.id);
    this.drawChat(all.filter((item) => item.collapse === this.section.dataset.room));
    this.drawItems(all.reverse());
    this.read();
  }

  count({ unread }) {
    this.part("badge").textContent = unread ? String(unread) : "";
  }

  drawChat(said) {
    this.part("chat").replaceChildren(...said.map((item) => this.bubble(item)));
    this.part("no-chat").hidden = said.length > 0;
    this.showNewest();
  }

  showNewest() {
    const chat = this.part("chat");
    chat.scrollTop = chat.scrollHeight;
  }

  bubble(item) {
    const line = element("li", "d-bubble"), sender = item.data.sender ?? "";
    line.classList.toggle("d-mine", sender === this.section.dataset.owner);
    line.append(element("b", "", sender), element("span", "", item.body), clock(item.created_at));
    return line;
  }

  drawItems(items) {
    this.part("items").replaceChildren(...items.map((item) => this.line(item)));
    this.part("no-items").hidden = items.length > 0;
  }

  line(item) {
    const line = element("li", ""), button = element("button", "d-item");
    button.type = "button";
    button.classList.toggle("d-unread", !item.read_at);
    button.append(element("strong", "", item.title), element("span", "", item.body), clock(item.created_at));
    button.addEventListener("click", () => this.open(item));
    line.append(button);
    return line;
  }

  open(item) {
    return this.trying("read", async () => {
      this.keep([await this.me(`inbox/${item.id}/read`, "POST", {})]);
      if (item.collapse === this.section.dataset.room) this.show("chat");
    });
  }

  // What is said in the room is read once the room is on the screen.
  read() {
    if (this.state !== "open" || this.tab === "inbox" || document.hidden) return;
    const room = this.section.dataset.room;
    const fresh = [...this.items.values()].filter((item) => item.collapse === room && !item.read_at);
    if (!fresh.length) return;
    const ids = fresh.map((item) => item.id), now = new Date().toISOString();
    for (const item of fresh) item.read_at = item.seen_at = now;
    this.trying("read", async () => this.count(await this.me("inbox/read", "POST", { ids })));
  }

  show(tab) {
    this.tab = tab;
    for (const one of this.section.querySelectorAll("[data-tab]")) {
      const chosen = one.dataset.tab === tab;
      one.setAttribute("aria-selected", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      this.section.querySelector(`[data-pane="${one.dataset.tab}"]`).hidden = !chosen;
    }
    this.keep([]);
  }

  write(event) {
    event.preventDefault();
    const field = this.part("write").words, words = field.value.trim();
    if (!words || this.writing) return;
    this.writing = true;
    field.value = ""; // at once: what is typed while it is sent is the next one
    this.trying("write", () => this.pages(this.section.dataset.writeUrl, { words })).then((sent) => {
      this.writing = false;
      if (!sent) field.value = [words, field.value].filter(Boolean).join(" ");
    });
  }

  // --- what rings

  async look() {
    if (!document.hidden) {
      await this.trying("rings", async () => {
        const { rings } = await this.pages(`${this.section.dataset.ringsUrl}?after=${this.after}`);
        for (const ring of rings) this.ring(ring);
        if (rings.length) this.drawRings();
      });
    }
    setTimeout(() => this.look(), ASK);
  }

  ring(ring) {
    this.after = Math.max(this.after, ring.at);
    if (this.state === "open" && this.items.get(ring.item)?.read_at) return; // it is on the screen
    this.rung.delete(ring.tag);
    this.rung.set(ring.tag, ring);
  }

  drawRings() {
    const rings = [...this.rung.values()].reverse();
    for (const place of ["tray", "banner"]) {
      this.part(place).replaceChildren(...rings.map((ring) => this.push(ring)));
    }
    this.showNewest();
  }

  push(ring) {
    const line = this.part("push").content.firstElementChild.cloneNode(true);
    line.querySelector("strong").textContent = ring.title;
    line.querySelector(".d-said").textContent = ring.body;
    line.querySelector("button").addEventListener("click", () => this.tap(ring));
    return line;
  }

  async tap(ring) {
    this.rung.delete(ring.tag);
    if (this.state === "locked") this.unlock();
    this.drawRings();
    if (!ring.item) return;
    await this.trying("read", async () => {
      const item = await this.me(`inbox/${ring.item}/read`, "POST", {});
      this.keep([item]);
      this.show(item.collapse === this.section.dataset.room ? "chat" : "inbox");
    });
  }
}

// Texts stay texts: they may hold anything.
function element(name, style, text = "") {
  const made = document.createElement(name);
  if (style) made.className = style;
  made.textContent = text;
  return made;
}

const time = (when) => when.toLocaleTimeString(document.documentElement.lang || undefined, { hour: "2-digit", minute: "2-digit" });

function clock(when) {
  const made = element("time", "", time(new Date(when)));
  made.dateTime = when;
  return made;
}

for (const section of document.querySelectorAll("[data-phone]")) {
  const phone = new Phone(section);
  document.addEventListener("visibilitychange", () => phone.read());
}
