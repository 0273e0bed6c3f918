// After all frames are loaded: what is on the page in each of them, and what is wrong with it.
addEventListener("load", () => {
  const measured = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument, root = page.documentElement, faults = [];
    const name = (element) => element.tagName + " " + element.textContent.trim().slice(0, 40);
    if (root.scrollWidth > root.clientWidth)
      faults.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
    for (const element of page.body.querySelectorAll("*")) {
      // Wide tables scroll in a box of their own.
      if (element.parentElement.closest(".wide")) continue;
      const around = element.parentElement.closest("svg") ?? element.parentElement;
      const [inner, outer] = [element, around].map((one) => one.getBoundingClientRect());
      if (inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1))
        faults.push(`${name(element)}: ${inner.left} to ${inner.right} in ${outer.left} to ${outer.right}`);
    }
    // Each plot is drawn for wide and for narrow windows, and one of the two is shown.
    const plots = [...page.querySelectorAll("svg.plot")].filter(
      (plot) => frame.contentWindow.getComputedStyle(plot).display !== "none");
    for (const text of plots.flatMap((plot) => [...plot.querySelectorAll("text")])) {
      const [inner, outer] = [text, text.closest("svg")].map((one) => one.getBoundingClientRect());
      if (inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1)
        faults.push(`clipped: ${name(text)}`);
      if (inner.height > 0 && Math.min(inner.height, inner.width) < 9 && name(text).length > 6)
        faults.push(`too small to read: ${name(text)}`);
    }
    for (const plot of plots) {
      const drawn = [...plot.querySelectorAll("polyline, circle")];
      const visible = drawn.filter((shape) => {
        const box = shape.getBoundingClientRect(), style = frame.contentWindow.getComputedStyle(shape);
        return box.width + box.height > 0 && (style.stroke !== "none" || style.fill !== "none");
      });
      if (!visible.length) faults.push(`empty plot: ${plot.getAttribute("aria-label")}`);
    }
    const { color, backgroundColor } = frame.contentWindow.getComputedStyle(page.body);
    return { width: root.clientWidth, plots: plots.length, color, backgroundColor, faults };
  });
  document.getElementById("measured").textContent = JSON.stringify(measured);
});
