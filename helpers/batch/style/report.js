"use strict";
const root = document.documentElement;
const remembered = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
                     set(value) { try { localStorage.setItem("theme", value); } catch { /* private window */ } } };
const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
if (remembered.get()) root.dataset.theme = remembered.get();

// ---- tables as text: what is shown, row by row
const cells = (button) => [...button.closest(".table").querySelectorAll("table tr")].map(
  (row) => [...row.cells].map((cell) => cell.innerText.trim().replace(/\s+/g, " ")));
const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "±": "$\\pm$",
                "≈": "$\\approx$", "×": "$\\times$", "→": "$\\rightarrow$", "▲": "", "▼": "" };
const latexCell = (text) => text.replace(/[\\~^−±≈×→▲▼&%$#_{}]/g, (c) => LATEX[c] ?? `\\${c}`).trim();
const written = {
  markdown(button) {
    const [head, ...body] = cells(button).map((row) => row.map((text) => text.replace(/\|/g, "\\|")));
    return [head, head.map(() => "---"), ...body].map((row) => `| ${row.join(" | ")} |`).join("\n") + "\n";
  },
  latex(button) {
    const [head, ...body] = cells(button).map((row) => row.map(latexCell).join(" & ") + " \\\\");
    const columns = "l".repeat(cells(button)[0].length);
    return [`\\begin{tabular}{${columns}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
  },
};
async function copy(button) {
  const text = written[button.dataset.action](button), name = button.textContent;
  try { await navigator.clipboard.writeText(text); } catch {  // not allowed here: the old way
    const field = Object.assign(document.createElement("textarea"), { value: text });
    button.after(field); field.select(); document.execCommand("copy"); field.remove();
  }
  button.textContent = button.dataset.done;
  setTimeout(() => { button.textContent = name; button.closest("details").open = false; }, 1200);
}

// ---- a figure as large as it was drawn
const zoom = document.querySelector(".zoom");
function enlarge(from) {
  const drawing = from.closest(".drawing").querySelector("svg, img");
  let large = drawing.cloneNode(false);
  large.removeAttribute("id");
  if (drawing.localName === "svg") {
    const [, , width, height] = drawing.getAttribute("viewBox").split(" ");
    large.setAttribute("viewBox", `0 0 ${width} ${height}`);
    large.innerHTML = `<use href="#${drawing.id}" width="${width}" height="${height}"/>`;
  }
  zoom.querySelector(".scroll").replaceChildren(large);
  zoom.setAttribute("aria-label", drawing.getAttribute("aria-label") || drawing.alt || "");
  zoom.showModal();
}

const actions = {
  theme() { root.dataset.theme = dark() ? "light" : "dark"; remembered.set(root.dataset.theme); },
  code(button) {
    const open = button.getAttribute("aria-pressed") !== "true";
    for (const block of document.querySelectorAll("details.code")) block.open = open;
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? button.dataset.on : button.dataset.off;
  },
  markdown: copy, latex: copy, enlarge, close() { zoom.close(); },
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (button) actions[button.dataset.action](button);
  else if (event.target.closest(".drawing") && matchMedia("(max-width: 720px)").matches) enlarge(event.target);
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// ---- terms: explained beside the word, by pointer, touch and keyboard
let asked = null;
function place(box) {
  if (!asked) return;
  const word = asked.getBoundingClientRect();
  box.style.left = `${Math.max(8, Math.min(word.left, innerWidth - box.offsetWidth - 8))}px`;
  const below = word.bottom + 6;
  box.style.top = `${below + box.offsetHeight < innerHeight ? below : Math.max(8, word.top - box.offsetHeight - 6)}px`;
}
for (const word of document.querySelectorAll("button.term")) {
  const box = document.getElementById(word.getAttribute("popovertarget"));
  word.addEventListener("click", () => { asked = word; if (box.matches(":popover-open")) place(box); });
  word.addEventListener("pointerenter", (event) => {
    if (event.pointerType === "mouse") { asked = word; box.showPopover(); place(box); }
  });
  word.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") box.hidePopover(); });
  box.addEventListener("toggle", () => { if (box.matches(":popover-open")) place(box); });
}

// ---- a table that is too wide is set tighter; only what scrolls then takes the keyboard's focus
const regions = [...document.querySelectorAll("main .scroll, main pre")];
const over = (region) => region.scrollWidth > region.clientWidth + 1 || region.scrollHeight > region.clientHeight + 1;
function settle() {
  for (const region of regions) region.removeAttribute("data-tight");
  for (const region of regions.filter(over)) region.setAttribute("data-tight", "");
  for (const [region, scrolls] of regions.map((region) => [region, over(region)])) {
    region.toggleAttribute("data-scrolls", scrolls);
    if (scrolls) region.tabIndex = 0; else region.removeAttribute("tabindex");
  }
}
settle();
addEventListener("resize", settle);
document.addEventListener("toggle", settle, true);

// ---- the appendix belongs on paper
const appendix = document.querySelector(".appendix > details");
addEventListener("beforeprint", () => { if (appendix) appendix.open = true; });

// ---- the contents start closed where they would push the text off a small screen, and mark where the reader is
const contents = document.querySelector(".contents details");
if (contents) {
  if (matchMedia("(max-width: 1000px)").matches) contents.open = false;
  const links = new Map([...contents.querySelectorAll("a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  for (const id of links.keys()) { const heading = document.getElementById(id); if (heading) seen.observe(heading); }
}
