/* Sets the formulas of a page, each when it comes near the window. */
(function () {
  "use strict";
  function set(element) {
    katex.render(element.textContent, element, {
      displayMode: element.classList.contains("display"),
      throwOnError: false,
      strict: "ignore",
    });
  }
  const near = new IntersectionObserver(
    (entries) =>
      entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
        near.unobserve(entry.target);
        set(entry.target);
      }),
    { rootMargin: "600px" }
  );
  document.querySelectorAll(".math").forEach((element) => near.observe(element));
})();
