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
    const plots = [...page.querySelectorAll("svg.plot")];
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
