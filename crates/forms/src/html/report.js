"use strict";
// Draws the heat map. Everything else of the page stands without this script.
(() => {
  const source = document.getElementById("map-data");
  if (!source) return;
  const unroll = (runs) => {
    const counts = [];
    for (let i = 0; i < runs.length; i += 2) for (let n = 0; n < runs[i + 1]; n++) counts.push(runs[i]);
    return counts;
  };
  const data = JSON.parse(source.textContent);
  const [binRows, binColumns] = data.bin;
  const down = Math.ceil(data.rows / binRows), across = Math.ceil(data.columns / binColumns);
  const bins = unroll(data.bins);
  const compared = data.compared && unroll(data.compared);
  const byRow = unroll(data.by_row.counts), byColumn = unroll(data.by_column.counts);
  const most = bins.reduce((a, b) => Math.max(a, b), 0);
  const total = bins.reduce((a, b) => a + b, 0);

  const holder = document.getElementById("map");
  const canvas = document.getElementById("heat");
  const cell = document.getElementById("map-cell");
  const pen = canvas.getContext("2d");
  holder.hidden = false;

  const number = (n) => n.toLocaleString("en-US");
  const span = (from, to) => (to - from === 1 ? `${number(from)}` : `${number(from)}\u2013${number(to - 1)}`);
  const elements = (row, column) => {
    if (compared) return compared[row * across + column];
    const high = Math.min(data.rows, (row + 1) * binRows) - row * binRows;
    return high * (Math.min(data.columns, (column + 1) * binColumns) - column * binColumns);
  };

  // Colours come from the style sheet, so that there is one place for light and dark.
  let colours;
  const hex = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    colours = {
      heat: [0, 1, 2, 3, 4].map((i) => hex(value(`heat-${i}`))),
      none: hex(value("none")), skipped: hex(value("skipped")),
      ink: value("ink"), soft: value("soft"), accent: value("accent"), grid: value("grid"), shade: value("shade"),
    };
  };
  const heat = (t) => {
    const place = Math.min(Math.max(t, 0), 1) * 4;
    const low = Math.min(Math.floor(place), 3);
    return colours.heat[low].map((c, i) => Math.round(c + (colours.heat[low + 1][i] - c) * (place - low)));
  };
  // The share of a cell, logarithmic from a thousandth to all: one mismatch must be seen beside cells full of
  // them, and a colour means the same in every report. Of cells of one element all are alike.
  const one = binRows * binColumns === 1;
  const strength = (i) => (one ? 0.6 : 1 + Math.log10(bins[i] / elements(Math.floor(i / across), i % across)) / 3);

  const image = document.createElement("canvas");
  image.width = across;
  image.height = down;
  const paint = () => {
    readColours();
    const dots = image.getContext("2d");
    const pixels = dots.createImageData(across, down);
    bins.forEach((count, i) => {
      const skipped = compared && compared[i] === 0;
      const colour = count > 0 ? heat(strength(i)) : skipped ? colours.skipped : colours.none;
      pixels.data.set([...colour, 255], 4 * i);
    });
    dots.putImageData(pixels, 0, 0);
  };

  // What is seen, in elements.
  let view = { x: 0, y: 0, w: data.columns, h: data.rows };
  let chosen = null;
  let plot;

  const layout = () => {
    const width = canvas.clientWidth;
    const left = 8 + Math.ceil(7.2 * String(data.rows).length), right = width < 500 ? 34 : 56, top = width < 500 ? 34 : 50, bottom = 22;
    const room = Math.max(width - left - right, 40), tallest = 620, least = 48, shape = data.rows / data.columns;
    // True to D's shape, unless one of its sides would vanish.
    let w = Math.round(Math.min(room, tallest / shape)), h = Math.round(Math.min(tallest, room * shape));
    const stretched = w < least || h < least;
    w = Math.max(w, Math.min(least, room));
    h = Math.max(h, least);
    document.getElementById("map-shape").textContent = stretched ? "; it is not drawn to scale, for one of its sides is so short" : "";
    plot = { left, top, w, h, right, width, height: top + h + bottom };
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${plot.height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(plot.height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  };

  const toX = (column) => plot.left + (column - view.x) / view.w * plot.w;
  const toY = (row) => plot.top + (row - view.y) / view.h * plot.h;
  const spacing = (shown, room) => {
    let step = 1;
    while (shown / step * 58 > room) step *= 2;
    return step;
  };

  const margin = (side, counts, step, start, shown, length) => {
    // Every pixel shows the largest of the counts that fall on it, so that a lone row is seen.
    const heights = new Float64Array(Math.ceil(length));
    let highest = 0;
    for (let i = Math.floor(start / step); i * step < start + shown && i < counts.length; i++) {
      const from = Math.max(0, Math.floor((i * step - start) / shown * length));
      const to = Math.min(heights.length, Math.max(from + 1, Math.floor(((i + 1) * step - start) / shown * length)));
      for (let p = from; p < to; p++) heights[p] = Math.max(heights[p], counts[i]);
      highest = Math.max(highest, counts[i]);
    }
    pen.fillStyle = colours.accent;
    heights.forEach((count, p) => {
      if (count === 0) return;
      if (side === "top") {
        const tall = Math.max(1.5, count / highest * (plot.top - 10));
        pen.fillRect(plot.left + p, plot.top - 4 - tall, 1, tall);
      } else {
        const wide = Math.max(1.5, count / highest * (plot.right - 8));
        pen.fillRect(plot.left + plot.w + 4, plot.top + p, wide, 1);
      }
    });
  };

  // Groups of mismatches: outlined, and ringed where they are too small to be seen.
  const point = () => {
    pen.font = "bold 12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    const taken = [];
    for (const mark of data.marks) {
      const edge = (at, low, high) => Math.min(Math.max(at, low), high);
      const x0 = toX(mark.columns[0]), x1 = toX(mark.columns[1]), y0 = toY(mark.rows[0]), y1 = toY(mark.rows[1]);
      const inside = x1 > plot.left && x0 < plot.left + plot.w && y1 > plot.top && y0 < plot.top + plot.h;
      if (!inside) continue;
      const small = x1 - x0 < 16 && y1 - y0 < 16;
      const shape = new Path2D();
      const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
      const left = edge(x0 - 2, plot.left - 2, plot.left + plot.w), top = edge(y0 - 2, plot.top - 2, plot.top + plot.h);
      if (small) shape.arc(cx, cy, 11, 0, 2 * Math.PI);
      else shape.rect(left, top, edge(x1 + 2, 0, plot.left + plot.w + 2) - left, edge(y1 + 2, 0, plot.top + plot.h + 2) - top);
      for (const [width, colour] of [[5, colours.shade], [2, colours.ink]]) {
        pen.lineWidth = width;
        pen.strokeStyle = colour;
        pen.stroke(shape);
      }
      const wide = Math.max(pen.measureText(mark.label).width + 10, 20), high = 20;
      const places = small
        ? [[cx + 10 + wide / 2, cy - 18], [cx - 10 - wide / 2, cy - 18], [cx + 10 + wide / 2, cy + 18], [cx - 10 - wide / 2, cy + 18]]
        : [[left + wide / 2 + 3, top + high / 2 + 3], [left + wide / 2 + 3, top - high / 2 - 2]];
      const fits = ([x, y]) => x - wide / 2 > 0 && x + wide / 2 < plot.width && y - high / 2 > 0 && y + high / 2 < plot.height
        && taken.every(([u, v, w]) => Math.abs(x - u) > (wide + w) / 2 || Math.abs(y - v) > high);
      const [x, y] = places.find(fits) || places[0];
      const at = [edge(x, wide / 2, plot.width - wide / 2), edge(y, high / 2, plot.height - high / 2)];
      taken.push([...at, wide]);
      pen.fillStyle = colours.ink;
      pen.beginPath();
      pen.roundRect(at[0] - wide / 2, at[1] - high / 2, wide, high, 10);
      pen.fill();
      pen.fillStyle = colours.shade;
      pen.fillText(mark.label, at[0], at[1] + 0.5);
    }
  };

  const draw = () => {
    if (!plot || plot.width !== canvas.clientWidth) layout();
    pen.clearRect(0, 0, plot.width, plot.height);
    pen.imageSmoothingEnabled = false;
    pen.save();
    pen.beginPath();
    pen.rect(plot.left, plot.top, plot.w, plot.h);
    pen.clip();
    pen.drawImage(image, toX(0), toY(0), across * binColumns / view.w * plot.w, down * binRows / view.h * plot.h);
    // A cell below a pixel would vanish: lone ones are drawn as large as can be seen.
    const wide = binColumns / view.w * plot.w, high = binRows / view.h * plot.h;
    if (wide < 2.5 || high < 2.5) {
      bins.forEach((count, i) => {
        if (count === 0) return;
        pen.fillStyle = `rgb(${heat(strength(i))})`;
        pen.fillRect(toX(i % across * binColumns), toY(Math.floor(i / across) * binRows), Math.max(wide, 2.5), Math.max(high, 2.5));
      });
    }
    pen.fillStyle = colours.grid;
    const stepX = spacing(view.w, plot.w), stepY = spacing(view.h, plot.h);
    for (let c = Math.ceil(view.x / stepX) * stepX; c < view.x + view.w; c += stepX) pen.fillRect(Math.round(toX(c)), plot.top, 1, plot.h);
    for (let r = Math.ceil(view.y / stepY) * stepY; r < view.y + view.h; r += stepY) pen.fillRect(plot.left, Math.round(toY(r)), plot.w, 1);
    if (chosen) {
      const x = toX(chosen.column * binColumns), y = toY(chosen.row * binRows);
      // Two colours, so that one of them stands out whatever lies below.
      for (const [width, colour] of [[5, colours.shade], [2, colours.ink]]) {
        pen.lineWidth = width;
        pen.strokeStyle = colour;
        pen.strokeRect(x - 1, y - 1, Math.max(wide, 4) + 2, Math.max(high, 4) + 2);
      }
    }
    pen.restore();
    point();
    margin("top", byColumn, data.by_column.step, view.x, view.w, plot.w);
    margin("right", byRow, data.by_row.step, view.y, view.h, plot.h);
    pen.fillStyle = colours.soft;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (let r = Math.ceil(view.y / stepY) * stepY; r < view.y + view.h; r += stepY) pen.fillText(r, plot.left - 5, Math.max(toY(r), plot.top + 6));
    pen.textAlign = "left";
    pen.textBaseline = "top";
    for (let c = Math.ceil(view.x / stepX) * stepX; c < view.x + view.w; c += stepX) {
      if (plot.left + plot.w - toX(c) > 24) pen.fillText(c, toX(c) + 1, plot.top + plot.h + 6);
    }
    const whole = view.w === data.columns && view.h === data.rows;
    canvas.style.touchAction = whole ? "pan-y" : "none";
  };

  const say = () => {
    if (!chosen) {
      const touched = bins.filter((count) => count > 0).length;
      cell.textContent = binRows * binColumns === 1
        ? `${number(total)} of ${number(bins.length)} elements differ`
        : `${number(total)} ${total === 1 ? "mismatch" : "mismatches"} in ${number(touched)} of ${number(bins.length)} cells; at most ${number(most)} in one`;
      return;
    }
    const { row, column } = chosen;
    const count = bins[row * across + column], all = elements(row, column);
    const top = row * binRows, matrix = data.matrix < data.rows ? `matrix ${number(Math.floor(top / data.matrix))}, ` : "";
    const rows = span(top, Math.min(data.rows, top + binRows));
    const columns = span(column * binColumns, Math.min(data.columns, (column + 1) * binColumns));
    const share = all === 0 ? "not compared" : all === 1 ? (count ? "differs" : "agrees")
      : `${number(count)} of ${number(all)} differ (${(count / all * 100).toPrecision(3)} %)`;
    cell.textContent = `${matrix}row ${rows}, column ${columns}: ${share}`;
  };

  const limit = () => {
    // Both sides alike, so that shapes stay what they are; eight cells at least.
    const closest = Math.max(1, Math.min(data.columns / (8 * binColumns), data.rows / (8 * binRows)));
    const closer = Math.min(Math.max(data.columns / view.w, 1), Math.max(closest, 1));
    view.w = data.columns / closer;
    view.h = data.rows / closer;
    view.x = Math.min(Math.max(view.x, 0), data.columns - view.w);
    view.y = Math.min(Math.max(view.y, 0), data.rows - view.h);
  };
  const zoom = (factor, x, y) => {
    // The place under the pointer stays where it is.
    const c = view.x + x * view.w, r = view.y + y * view.h;
    view.w /= factor;
    view.h /= factor;
    limit();
    view.x = c - x * view.w;
    view.y = r - y * view.h;
    limit();
    draw();
  };
  const all = () => {
    view = { x: 0, y: 0, w: data.columns, h: data.rows };
    draw();
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left - plot.left) / plot.w, y: (event.clientY - box.top - plot.top) / plot.h };
  };
  const choose = (place) => {
    const inside = place.x >= 0 && place.x < 1 && place.y >= 0 && place.y < 1;
    chosen = inside && {
      row: Math.floor((view.y + place.y * view.h) / binRows),
      column: Math.floor((view.x + place.x * view.w) / binColumns),
    };
    say();
    draw();
  };

  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, at(event));
    canvas.setPointerCapture(event.pointerId);
    choose(at(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = at(event), before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") choose(place);
      return;
    }
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (p) => Math.hypot((p.x - other.x) * plot.w, (p.y - other.y) * plot.h) || 1;
      zoom(apart(place) / apart(before), (place.x + other.x) / 2, (place.y + other.y) / 2);
    } else {
      view.x -= (place.x - before.x) * view.w;
      view.y -= (place.y - before.y) * view.h;
      limit();
      draw();
    }
    pointers.set(event.pointerId, place);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
  }
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse" && pointers.size === 0 && document.activeElement !== canvas) {
      chosen = null;
      say();
      draw();
    }
  });
  canvas.addEventListener("dblclick", (event) => zoom(2, at(event).x, at(event).y));
  canvas.addEventListener("wheel", (event) => {
    // Scrolling past the map must not be caught by it.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), at(event).x, at(event).y);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const centre = chosen
      ? [(chosen.column * binColumns - view.x) / view.w, (chosen.row * binRows - view.y) / view.h] : [0.5, 0.5];
    if (moves[event.key]) {
      const [y, x] = moves[event.key];
      chosen = chosen
        ? { row: Math.min(Math.max(chosen.row + y, 0), down - 1), column: Math.min(Math.max(chosen.column + x, 0), across - 1) }
        : { row: Math.floor(view.y / binRows), column: Math.floor(view.x / binColumns) };
      const row = chosen.row * binRows, column = chosen.column * binColumns;
      if (row < view.y) view.y = row;
      if (row + binRows > view.y + view.h) view.y = row + binRows - view.h;
      if (column < view.x) view.x = column;
      if (column + binColumns > view.x + view.w) view.x = column + binColumns - view.w;
      limit();
      say();
      draw();
    } else if (event.key === "+" || event.key === "=") zoom(1.5, ...centre);
    else if (event.key === "-") zoom(1 / 1.5, ...centre);
    else if (event.key === "0") all();
    else if (event.key === "Escape") {
      chosen = null;
      say();
      draw();
    } else return;
    event.preventDefault();
  });
  for (const button of holder.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      const way = button.dataset.zoom;
      if (way === "all") all();
      else zoom(way === "in" ? 2 : 0.5, 0.5, 0.5);
    });
  }
  const afresh = () => {
    paint();
    draw();
  };
  new ResizeObserver(() => {
    plot = null;
    draw();
  }).observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", afresh);
  // Paper is light, whatever the screen is.
  for (const name of ["beforeprint", "afterprint"]) {
    window.addEventListener(name, () => {
      document.documentElement.classList.toggle("printing", name === "beforeprint");
      afresh();
    });
  }
  afresh();
  say();
})();
