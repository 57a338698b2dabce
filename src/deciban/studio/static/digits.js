// The page Digits: strokes on a canvas become 8 × 8 counts of ink, which are recognised at every stroke.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const canvas = element("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const side = canvas.width;
  const small = document.createElement("canvas");
  small.width = small.height = 32;
  const scaled = small.getContext("2d", { willReadFrequently: true });
  const penWidth = 34;
  let last = null;
  let pixels = null;
  const cursor = { x: side / 2, y: side / 2, down: false };
  const turns = {};

  const ink = () => window.getComputedStyle(canvas).color;

  function stroke(from, to) {
    pen.strokeStyle = ink();
    pen.lineWidth = penWidth;
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    pen.lineTo(to.x + 0.01, to.y);
    pen.stroke();
    pixels = readPixels();
    recognise();
  }

  function findBounds() {
    const data = pen.getImageData(0, 0, side, side).data;
    let [left, top, right, bottom] = [side, side, -1, -1];
    for (let y = 0; y < side; y += 1) {
      for (let x = 0; x < side; x += 1) {
        if (data[4 * (y * side + x) + 3] > 127) {
          left = Math.min(left, x); right = Math.max(right, x);
          top = Math.min(top, y); bottom = Math.max(bottom, y);
        }
      }
    }
    return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
  }

  // The ink is cut out and scaled to the height of 32 points; each pixel is the number of points in a square of 4 × 4.
  function readPixels() {
    const box = findBounds();
    if (!box) return null;
    const scale = Math.min(32 / box.height, 26 / box.width);
    const [width, height] = [box.width * scale, box.height * scale];
    scaled.clearRect(0, 0, 32, 32);
    scaled.drawImage(canvas, box.left, box.top, box.width, box.height, (32 - width) / 2, (32 - height) / 2, width, height);
    const data = scaled.getImageData(0, 0, 32, 32).data;
    const counts = new Array(64).fill(0);
    for (let y = 0; y < 32; y += 1) {
      for (let x = 0; x < 32; x += 1) {
        if (data[4 * (y * 32 + x) + 3] > 127) counts[8 * (y >> 2) + (x >> 2)] += 1;
      }
    }
    return counts;
  }

  const recognise = window.latest(async () => {
    if (!pixels) return;
    const start = performance.now();
    const found = await window.studio.post("/digits/recognise", { pixels });
    if (!pixels) return;
    const verdict = element("verdict");
    verdict.replaceChildren("This is a ", Object.assign(document.createElement("strong"), { textContent: found.digit }),
      ` with probability ${found.shown[found.digit]}`);
    element("seen").innerHTML = found.image;
    found.posterior.forEach((p, digit) => {
      const item = document.querySelector(`[data-mean="${digit}"]`);
      item.querySelector(".bar").style.width = `${100 * p}%`;
      item.querySelector("[data-probability]").textContent = p < 0.0005 ? "0 %" : `${(100 * p).toFixed(p > 0.0995 ? 0 : 1)} %`;
      item.classList.toggle("best", digit === found.digit);
    });
    verdict.dataset.milliseconds = String(performance.now() - start);
    verdict.dataset.digit = String(found.digit);
  });

  function clear() {
    pen.clearRect(0, 0, side, side);
    pixels = null;
    cursor.down = false;
    element("verdict").textContent = "Draw something.";
    delete element("verdict").dataset.digit;
    element("seen").replaceChildren();
    document.querySelectorAll("[data-mean]").forEach((item) => {
      item.classList.remove("best");
      item.querySelector(".bar").style.width = "0";
      item.querySelector("[data-probability]").textContent = "–";
    });
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) * side / box.width, y: (event.clientY - box.top) * side / box.height };
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    stroke(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    for (const each of event.getCoalescedEvents ? [...event.getCoalescedEvents(), event] : [event]) {
      const next = place(each);
      stroke(last, next);
      last = next;
    }
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { last = null; });

  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      const before = { ...cursor };
      const limit = (value) => Math.min(Math.max(value, penWidth / 2), side - penWidth / 2);
      cursor.x = limit(cursor.x + 12 * moves[event.key][0]);
      cursor.y = limit(cursor.y + 12 * moves[event.key][1]);
      if (cursor.down) stroke(before, cursor);
    } else if (event.key === " ") {
      cursor.down = !cursor.down;
      if (cursor.down) stroke(cursor, cursor);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      clear();
    } else {
      return;
    }
    event.preventDefault();
  });

  element("clear").addEventListener("click", clear);
  document.querySelectorAll("[data-digit]:not(#verdict)").forEach((button) => button.addEventListener("click", async () => {
    const digit = button.dataset.digit;
    turns[digit] = (turns[digit] || 0) + 1;
    const found = await window.studio.get(`/digits/example?digit=${digit}&number=${turns[digit]}`);
    clear();
    pen.fillStyle = ink();
    found.pixels.forEach((value, i) => {
      pen.globalAlpha = value / 16;
      pen.fillRect((i % 8) * side / 8, Math.floor(i / 8) * side / 8, side / 8, side / 8);
    });
    pen.globalAlpha = 1;
    pixels = found.pixels;
    recognise();
  }));
})();
