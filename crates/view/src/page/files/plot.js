// A small plot of one value over time.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 40;

/** A line through values, with its name, its last value and the highest. The picture says nothing that the text does not. */
export function plot(name, values, text, range) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.append(`${name} `, bold(text), `, ${range}`);
  figure.append(caption, picture(values));
  return figure;
}

function bold(text) {
  const made = document.createElement("b");
  made.append(text);
  return made;
}

function picture(values) {
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}
