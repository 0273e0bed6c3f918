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
      const scale = text.getScreenCTM().a || text.getScreenCTM().b;
      const size = Math.abs(scale) * parseFloat(frame.contentWindow.getComputedStyle(text).fontSize);
      if (size < 11) faults.push(`${size} pixels high, too small to read: ${name(text)}`);
    }
    for (const plot of plots) {
      const texts = [...plot.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
      for (const [at, [text, box]] of texts.entries())
        for (const [other, box2] of texts.slice(at + 1))
          // Boxes are higher than the letters in them.
          if (Math.min(box.right, box2.right) - Math.max(box.left, box2.left) > 1 &&
              Math.min(box.bottom, box2.bottom) - Math.max(box.top, box2.top) > 4)
            faults.push(`${name(text)} is over ${name(other)} in ${plot.getAttribute("aria-label")}`);
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
