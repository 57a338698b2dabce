// The page Calculator: sliders, numbers and dots. The slider of the prior is in decibans of its odds, so that rare
// conditions have as much room as common ones.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const names = ["prior", "sensitivity", "specificity"];
  const groups = ["true_positives", "false_positives", "false_negatives", "true_negatives"];
  const drawing = element("dots");
  const width = window.matchMedia("(max-width: 860px)").matches ? 100 : 200; // dots in a line
  drawing.setAttribute("viewBox", `0 0 ${width} ${10000 / width}`);

  const toShare = (name, position) => (name === "prior" ? 100 / (1 + 10 ** (-position / 10)) : position);
  const toPosition = (name, percent) => (name === "prior" ? 10 * Math.log10(percent / (100 - percent)) : percent);

  function draw(counts) {
    let done = 0;
    const paths = groups.map((group) => {
      const steps = [];
      for (const end = done + counts[group]; done < end; done += 1) {
        steps.push(`M${(done % width) + 0.5} ${Math.floor(done / width) + 0.5}h0`);
      }
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("class", group);
      path.setAttribute("d", steps.join(""));
      return path;
    });
    drawing.replaceChildren(...paths);
    for (const group of groups) {
      document.querySelector(`[data-count=${group}]`).textContent = counts[group].toLocaleString("en").replaceAll(",", " ");
    }
  }

  const refresh = window.latest(async () => {
    const query = new URLSearchParams(names.map((name) => [name, element(name).value]));
    const found = await window.studio.get(`/calculator/result?${query}`);
    element("result").innerHTML = found.html;
    draw(found.dots);
    window.history.replaceState(null, "", `/calculator?${query}`);
  });

  function format(percent) {
    return Number(percent.toPrecision(percent > 99 ? 4 : percent < 1 ? 2 : 3));
  }

  function follow(name) {
    element(`${name}-slider`).value = toPosition(name, Number(element(name).value));
  }

  for (const name of names) {
    element(`${name}-slider`).addEventListener("input", (event) => {
      element(name).value = format(toShare(name, Number(event.target.value)));
      refresh();
    });
    element(name).addEventListener("input", () => {
      if (!element(name).value || !element(name).checkValidity()) return;
      follow(name);
      refresh();
    });
    follow(name);
  }
  element("shares").addEventListener("submit", (event) => event.preventDefault());
  document.querySelectorAll(".presets button").forEach((button) => button.addEventListener("click", () => {
    for (const name of names) { element(name).value = button.dataset[name]; follow(name); }
    refresh();
  }));
  draw(JSON.parse(drawing.dataset.dots));
})();
