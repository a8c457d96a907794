// Amounts and times as people read them.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function size(bytes) {
  let n = bytes;
  let unit = 0;
  while (Math.abs(n) >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${short(n)} ${units[unit]}`;
}

function rate(bits) {
  let n = bits;
  const steps = ["bps", "kbps", "Mbps", "Gbps", "Tbps"];
  let unit = 0;
  while (n >= 1000 && unit < steps.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${short(n)} ${steps[unit]}`;
}

// short writes a number with at most three digits that matter, thousands apart.
// What a browser has for that takes it 10 ms to set up, before the first view.
export function short(n) {
  if (Math.abs(n) >= 100 || Number.isInteger(n)) return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  return String(Number(n.toPrecision(3)));
}

// amount writes so much of a kind: cpus in cores, whole devices as a number,
// all else in bytes, as GET /v1/rings has it.
export function amount(kind, n) {
  if (kind === "cpus") return short(n);
  if (kind === "bandwidth") return rate(n);
  if (kind === "mem" || kind === "disk" || kind.endsWith(".slice")) return size(n);
  return short(n);
}

// quota writes so much of a fair-share kind, in which devices count in bytes.
export function quota(kind, n) {
  return kind === "cpus" || kind === "bandwidth" ? amount(kind, n) : size(n);
}

// titles of the kinds; classes are called what they are called.
export function title(kind) {
  const names = { cpus: "CPU cores", mem: "Memory", disk: "Disk", bandwidth: "Bandwidth" };
  if (names[kind]) return names[kind];
  if (kind.endsWith(".slice")) return `${kind.slice(0, -6)}: largest free slice`;
  return `${kind}: whole devices`;
}

export function percent(share) {
  return `${short(Math.round(share * 1000) / 10)} %`;
}

// span writes seconds as the one or two units that matter.
export function span(seconds) {
  const t = Math.max(0, seconds);
  if (t < 1) return `${Math.round(t * 1000)} ms`;
  if (t < 60) return `${short(Math.round(t * 10) / 10)} s`;
  if (t < 3600) return `${Math.floor(t / 60)} min ${Math.floor(t % 60)} s`;
  if (t < 86400) return `${Math.floor(t / 3600)} h ${Math.floor((t % 3600) / 60)} min`;
  return `${Math.floor(t / 86400)} d ${Math.floor((t % 86400) / 3600)} h`;
}

export function clock(text) {
  if (!text) return "";
  const t = new Date(text);
  return [t.getHours(), t.getMinutes(), t.getSeconds()].map((n) => String(n).padStart(2, "0")).join(":");
}

export function moment(text) {
  return text ? new Date(text).toLocaleString("en-GB") : "";
}

// between is how long from one time to another, or to now.
export function between(from, to) {
  if (!from) return "";
  return span(((to ? new Date(to) : new Date()) - new Date(from)) / 1000);
}
