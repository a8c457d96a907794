// What changes something asks first, says what it will do, and shows what the
// master answered.

import { order } from "./api.js";
import { h } from "./dom.js";

// act makes a button that asks, orders and tells: {label, title, text, say,
// method, path, field: {label, name, value, read}, done}.
export function act(a) {
  return h("button", { class: a.harmless ? "quiet" : "danger", onclick: () => ask(a) }, a.label);
}

function ask(a) {
  const field = a.field && h("input", { id: "actfield", value: a.field.value, type: a.field.type ?? "text", min: a.field.type === "number" ? 0 : null, placeholder: a.field.placeholder ?? null });
  const why = h("p", { class: "error", role: "alert" });
  const yes = h("button", { class: a.harmless ? "" : "danger", value: "yes" }, a.label);
  const no = h("button", { class: "quiet", type: "button", onclick: () => dialog.close() }, "Cancel");
  const form = h("form", {},
    h("h2", { id: "acttitle" }, a.title), h("p", {}, a.text),
    field && h("p", {}, h("label", { for: "actfield" }, a.field.label), " ", field),
    why, h("div", { class: "buttons" }, no, yes));
  const dialog = h("dialog", { "aria-labelledby": "acttitle" }, form);
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    yes.disabled = true;
    why.textContent = "";
    try {
      await order("POST", a.path, field ? a.field.read(field.value.trim()) : {});
      dialog.close();
      tell(a.say);
      a.done?.();
    } catch (err) {
      why.textContent = err.message;
      yes.disabled = false;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  (field ?? no).focus();
}

// tell says for a while what was done; screen readers say it too.
export function tell(text) {
  const note = h("p", { class: "note card" }, text);
  document.getElementById("notes").append(note);
  setTimeout(() => note.remove(), 6000);
}
