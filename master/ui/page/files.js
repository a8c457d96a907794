// The files of a task's sandbox: folders to walk through, the beginning of a
// file to look at, all of it to take home.

import { get, request } from "./api.js";
import { empty, h, replace, row, table } from "./dom.js";
import { moment, size } from "./format.js";

const looked = 64 << 10; // bytes of a file that are shown

export function filesOf(view, task, path) {
  const home = `/v1/tasks/${encodeURIComponent(task)}/files`;
  const list = table("Files", ["Name", "Size", "Changed", "To keep"], [], { class: "scroll files" });
  const none = empty("The folder is empty.");
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Folder" });
  const shown = h("div", {});
  const folder = (names) => view.load(async (signal) => {
    const at = names.map(encodeURIComponent).join("/");
    const { files } = await get(at ? `${home}/${at}` : home, signal);
    const ways = ["sandbox", ...names].map((name, i) => h("button", { class: "link", onclick: () => folder(names.slice(0, i)) }, name));
    const had = [list.box, crumbs].some((e) => e.contains(document.activeElement)); // who came by the keyboard goes on from here
    replace(crumbs, ways.flatMap((w, i) => (i ? [" / ", w] : [w])));
    replace(list.body, files.map((f) => fileRow(f, [...names, f.name])));
    none.hidden = files.length > 0;
    list.box.hidden = files.length === 0;
    replace(shown);
    if (had) ways.at(-1).focus();
  });
  const fileRow = (f, names) => {
    const at = `${home}/${names.map(encodeURIComponent).join("/")}`;
    const open = f.dir ? () => folder(names) : () => view.load((signal) => look(at, f, signal));
    return row([
      h("button", { class: "link", onclick: open }, f.dir ? `${f.name}/` : f.name), f.dir ? "" : size(f.size), moment(f.modified),
      f.dir ? "" : h("button", { class: "quiet", "aria-label": `Download ${f.name}`, onclick: () => view.load((signal) => download(at, f.name, signal)) }, "Download"),
    ]);
  };
  const look = async (at, f, signal) => {
    const answer = await request(at, { signal, headers: f.size > looked ? { Range: `bytes=0-${looked - 1}` } : {} });
    const text = new TextDecoder().decode(await answer.arrayBuffer());
    replace(shown, h("h3", {}, f.name), h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": f.name }, text.includes("\u0000") ? "It is not a text." : text),
      f.size > looked && h("p", { class: "faint" }, `The first ${size(looked)} of ${size(f.size)}.`));
  };
  folder(path);
  return h("div", {}, crumbs, list.box, none, shown);
}

// download fetches a file with the token and hands it to the browser.
async function download(at, name, signal) {
  const url = URL.createObjectURL(await (await request(at, { signal })).blob());
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
