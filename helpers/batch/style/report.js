"use strict";
const root = document.documentElement;
const remembered = { get() { try { return localStorage.getItem("theme"); } catch { return null; } },
                     set(value) { try { localStorage.setItem("theme", value); } catch { /* private window */ } } };
const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
if (remembered.get()) root.dataset.theme = remembered.get();

const actions = {
  theme() { root.dataset.theme = dark() ? "light" : "dark"; remembered.set(root.dataset.theme); },
  code(button) {
    const open = button.getAttribute("aria-pressed") !== "true";
    for (const block of document.querySelectorAll("details.code")) block.open = open;
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Hide all code" : "Show all code";
  },
};
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action]");
  if (button) actions[button.dataset.action](button);
});

// The contents start closed where they would push the text off a small screen, and mark where the reader is.
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
