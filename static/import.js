// The upload of a file in parts: with progress, patience while the connection is away, and a way to
// go on with the same file after a reload. The server knows which parts it has.
"use strict";

const WAITS = [1, 2, 4, 8, 15, 30, 30, 30]; // seconds between tries: two minutes in all
const PASSING = [408, 425, 429, 500, 502, 503, 504]; // worth another try

/** A refusal in the server's words, or in ours. */
class Refused extends Error {}

class ImportUpload extends HTMLElement {
  connectedCallback() {
    // While the page is still being read, what is inside of us has not come yet.
    if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", () => this.begin(), { once: true });
    } else {
      this.begin();
    }
  }

  begin() {
    this.field = this.querySelector("input[type=file]");
    // On the way down: Unfold listens on every field for files, and breaks on one not of its own.
    this.addEventListener("change", (event) => this.chosen(event), { capture: true });
    if (this.field.files.length) this.take(this.field.files[0]); // chosen before this script came
    this.part("cancel").addEventListener("click", () => this.cancel());
    for (const kind of ["dragover", "dragleave", "drop"]) {
      this.addEventListener(kind, (event) => this.drag(event));
    }
  }

  part(name) {
    return this.querySelector(`[data-part="${name}"]`);
  }

  chosen(event) {
    event.stopPropagation();
    this.take(this.field.files[0]);
  }

  drag(event) {
    event.preventDefault();
    this.classList.toggle("i-over", event.type === "dragover");
    if (event.type === "drop" && !this.busy) this.take(event.dataTransfer.files[0]);
  }

  async take(file) {
    if (!file || this.busy) return;
    this.going = new AbortController();
    const { signal } = this.going;
    this.draw(true);
    this.part("name").textContent = file.name;
    try {
      if (!file.size) throw new Refused(this.dataset.empty);
      await this.cancelling; // or the same file would go on with the upload that is about to end
      await this.upload(file, signal);
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  async upload(file, signal) {
    const about = new URLSearchParams({ name: file.name, size: file.size, modified: file.lastModified });
    for (const hidden of this.querySelectorAll("input[type=hidden]")) about.set(hidden.name, hidden.value);
    this.begun = await this.ask(this.dataset.begin, about, signal);
    const { part_bytes: size, parts, next, has } = this.begun;
    this.say(has ? this.dataset.goesOn : this.dataset.sending);
    this.progress(has, file.size);
    for (let number = next; number < parts; number += 1) {
      const content = await this.read(file.slice(number * size, (number + 1) * size));
      await this.ask(`${this.begun.part_url}${number}/`, content, signal);
      this.progress(Math.min((number + 1) * size, file.size), file.size);
    }
    this.say(this.dataset.reading);
    const done = await this.ask(this.begun.finish_url, new URLSearchParams(), signal);
    location.assign(done.url);
  }

  async read(blob) {
    try {
      return await blob.arrayBuffer();
    } catch {
      throw new Refused(this.dataset.changed); // on the disk, while we read it
    }
  }

  /** POST until it is answered; what passes by itself is waited for. */
  async ask(url, body, signal) {
    for (const wait of [...WAITS, null]) {
      const reply = await this.once(url, body, signal);
      signal?.throwIfAborted();
      if (reply && !PASSING.includes(reply.status)) {
        if (wait !== WAITS[0]) this.say(this.dataset.sending);
        return this.answer(reply);
      }
      if (wait === null) throw new Refused(this.dataset.gone);
      this.say(this.dataset.lost);
      await this.pause(wait, signal);
    }
  }

  async once(url, body, signal) {
    const headers = { "X-CSRFToken": this.dataset.token, Accept: "application/json" };
    if (!(body instanceof URLSearchParams)) headers["Content-Type"] = "application/octet-stream";
    try {
      return await fetch(url, { method: "POST", body, headers, signal });
    } catch {
      return null; // nobody answered, or it was cancelled
    }
  }

  async answer(reply) {
    const said = reply.headers.get("Content-Type")?.startsWith("application/json");
    // From before the pages: they take as much as this script sends.
    if (!said && reply.status === 413) throw new Refused(this.dataset.narrow);
    // A page where a few words were asked for: the log-in, or another project.
    if (!said) throw new Refused(this.dataset.elsewhere);
    const found = await reply.json();
    if (!reply.ok) throw new Refused(found.error);
    return found;
  }

  pause(seconds, signal) {
    return new Promise((done) => {
      setTimeout(done, seconds * 1000);
      window.addEventListener("online", done, { once: true });
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  async cancel() {
    const begun = this.begun;
    this.going.abort();
    this.draw(false);
    this.field.focus();
    this.say(this.dataset.cancelled);
    this.begun = undefined;
    if (!begun) return;
    // Without an answer it lapses by itself.
    this.cancelling = this.ask(begun.cancel_url, new URLSearchParams()).catch(() => {});
    await this.cancelling;
    if (!this.busy) this.say(this.dataset.cancelled);
  }

  fail(error) {
    this.draw(false);
    this.say("");
    const alert = this.part("error");
    alert.textContent = error instanceof Refused ? error.message : this.dataset.gone;
    alert.hidden = false;
    this.field.focus();
  }

  draw(busy) {
    this.busy = busy;
    this.part("error").hidden = true;
    this.part("choose").hidden = busy;
    this.part("going").hidden = !busy;
    if (!busy) this.field.value = ""; // or the same file could not be chosen again
  }

  progress(sent, size) {
    const share = Math.floor((sent / size) * 100);
    this.part("bar").value = share;
    this.part("share").textContent = `${share} %`;
    this.part("bytes").textContent = this.dataset.of
      .replace("{sent}", inBytes(sent)).replace("{size}", inBytes(size));
    // A screen reader hears each fifth, and not each part.
    if (sent && Math.floor(share / 20) !== this.spoken) {
      this.spoken = Math.floor(share / 20);
      this.say(`${this.dataset.sending} ${share} %`);
    }
  }

  say(text) {
    this.part("said").textContent = text;
  }
}

function inBytes(count) {
  const [unit, size] = count < 1e6 ? ["kilobyte", 1e3] : count < 1e9 ? ["megabyte", 1e6] : ["gigabyte", 1e9];
  const number = count / size;
  const digits = number < 100 ? 1 : 0;
  return new Intl.NumberFormat(document.documentElement.lang || "en", {
    style: "unit", unit, maximumFractionDigits: digits,
  }).format(number);
}

customElements.define("import-upload", ImportUpload);
