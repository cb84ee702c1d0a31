/**
 * TensorBoard around the page: its messages, theme, run filter and address.
 *
 * The page is an iframe of the same origin. What TensorBoard has no interface
 * for is read from its document; where that is out of reach, the page works
 * standalone.
 */

const NAME = "tfcap_tradeoff";
const PREFIX = `p.${NAME}.`;

/** TensorBoard's window, or `null` where the page is standalone. */
function outside() {
  try {
    if (window.parent === window || !window.parent.document) return null;
    return window.parent;
  } catch {
    return null;
  }
}

/** Values in the address, by key. */
export function readAddress() {
  const host = outside() ?? window;
  const found = {};
  for (const part of host.location.hash.replace(/^#/, "").split("&")) {
    const [key, ...rest] = part.split("=");
    if (!key.startsWith(PREFIX)) continue;
    found[key.slice(PREFIX.length)] = unescaped(rest.join("="));
  }
  return found;
}

function unescaped(text) {
  try {
    return decodeURIComponent(text.replace(/\+/g, "%20"));
  } catch {
    return text;
  }
}

/** Writes values into the address, and removes empty ones. */
export function writeAddress(values) {
  const host = outside();
  const storage = host?.tensorboard?.tf_storage;
  if (storage?.setString) {
    const how = { defaultValue: "", useLocationReplace: true };
    for (const [key, value] of Object.entries(values)) {
      storage.setString(PREFIX + key, value, how);
    }
    return;
  }
  const target = host ?? window;
  const parts = target.location.hash.replace(/^#/, "").split("&");
  const kept = parts.filter((part) => {
    const key = part.split("=")[0];
    return part && !(key.slice(PREFIX.length) in values &&
      key.startsWith(PREFIX));
  });
  if (!kept.length && host) kept.push(NAME);
  for (const [key, value] of Object.entries(values)) {
    if (value) kept.push(`${PREFIX}${key}=${encodeURIComponent(value)}`);
  }
  // The path of the address: the page's `<base>` is another folder.
  const { pathname, search } = target.location;
  const address = `${pathname}${search}#${kept.join("&")}`;
  target.history.replaceState(target.history.state, "", address);
}

/** Address of TensorBoard's Time Series of these runs. */
export function timeSeries(runs) {
  // The page's `<base>` is `data/plugin/NAME/` below TensorBoard's path.
  const address = new URL("../../../", document.baseURI);
  const names = runs.map((run) => run.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  address.searchParams.set("runFilter", `^(${names.join("|")})$`);
  address.hash = "timeseries";
  return address.href;
}

/** The regular expression in TensorBoard's own run filter, or `""`. */
export function hostRunFilter() {
  const search = (outside() ?? window).location.search;
  return new URLSearchParams(search).get("runFilter") ?? "";
}

/** Whether TensorBoard is dark; standalone, the system's preference. */
export function isDark() {
  const host = outside();
  if (host) return host.document.body.classList.contains("dark-mode");
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Whether TensorBoard shows another tab: the iframe then has no height. */
export function isHidden() {
  return document.hidden || window.innerHeight === 0;
}

/** Watches the theme, the address and the run filter. */
export function watchHost({ onTheme, onAddress, onReload }) {
  const host = outside();
  window
    .matchMedia("(prefers-color-scheme: dark)")
    .addEventListener("change", onTheme);
  (host ?? window).addEventListener("hashchange", onAddress);
  // Fires when the tab is shown again.
  window.addEventListener("resize", onAddress);
  if (!host) return;
  new MutationObserver(onTheme).observe(host.document.body, {
    attributes: true,
    attributeFilter: ["class"],
  });
  listen(host, onReload);
}

/** The plugin's side of TensorBoard's experimental messages. */
function listen(host, onReload) {
  const channel = new MessageChannel();
  channel.port1.onmessage = ({ data }) => {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message.isReply) return;
    const { type, id } = message;
    const reply = { type, id, payload: null, error: null, isReply: true };
    channel.port1.postMessage(JSON.stringify(reply));
    if (type === "experimental.DataReloaded") onReload();
  };
  // The host identifies the window by it, and answers on the port.
  host.postMessage("experimental.bootstrap", "*", [channel.port2]);
}
