
// Reading values off a chart: the legend shows the step under the pointer, or the last one.

function followChart(figure, data) {
  const drawing = figure.querySelector(":scope > svg");
  const outputs = figure.querySelectorAll(".legend output");
  const rule = drawing.querySelector(".rule");
  const [left, right] = [Number(drawing.dataset.left), Number(drawing.dataset.right)];
  const last = data.steps.length - 1;
  const [low, high] = [data.steps[0], data.steps[last]];
  let chosen = last;

  function show(index, ruled) {
    chosen = Math.min(last, Math.max(0, index));
    data.series.forEach((values, number) => (outputs[number].textContent = written[data.kind](values[chosen])));
    outputs[outputs.length - 1].textContent = data.steps[chosen];
    const x = high > low ? left + ((right - left) * (data.steps[chosen] - low)) / (high - low) : (left + right) / 2;
    rule.setAttribute("x1", x);
    rule.setAttribute("x2", x);
    rule.setAttribute("visibility", ruled ? "visible" : "hidden");
  }

  function nearest(event) {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * drawing.viewBox.baseVal.width;
    const step = low + ((x - left) / (right - left)) * (high - low);
    let best = 0;
    data.steps.forEach((at, index) => {
      if (Math.abs(at - step) < Math.abs(data.steps[best] - step)) best = index;
    });
    return best;
  }

  figure.tabIndex = 0;
  drawing.addEventListener("pointermove", (event) => show(nearest(event), true));
  drawing.addEventListener("pointerleave", () => show(last, false));
  figure.addEventListener("blur", () => show(last, false));
  figure.addEventListener("keydown", (event) => {
    const target = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: last }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    show(target, true);
  });
}
