"use strict";
// Making elements, and numbers as text. Recorded text is hostile: in all of these scripts it only ever becomes a text
// node or an attribute value, never markup.

const SVG = "http://www.w3.org/2000/svg";

const find = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const fixed = (value, digits = 2) => (isNumber(value) ? value.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1") : "-");

function significant(value) {
  if (!isNumber(value)) return "-";
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent > 5) return value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2");
  return value.toFixed(Math.max(0, 2 - exponent));
}

const written = { percent: (value) => (isNumber(value) ? `${(100 * value).toFixed(1)} %` : "-"), number: significant };
const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
