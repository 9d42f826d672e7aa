// Keeps the language that was chosen in a function's tabs. Without JavaScript, the tabs work but start with C.
(() => {
  const key = "tenon-language";
  const inputs = document.querySelectorAll(".tabs > input");
  const select = (language) => {
    inputs.forEach((input) => {
      input.checked ||= input.value === language;
    });
  };
  inputs.forEach((input) => {
    input.addEventListener("change", () => {
      try {
        localStorage.setItem(key, input.value);
      } catch {
        // Without storage the choice lasts for this page.
      }
      select(input.value);
    });
  });
  try {
    select(localStorage.getItem(key));
  } catch {
    // Without storage the pages start with C.
  }
})();

// Shows the version of the book, and a switch if the site has several. Each version is a folder of the site.
(() => {
  const bar = document.querySelector(".right-buttons");
  const script = document.createElement("script");
  const root = new URL(path_to_root || "./", document.baseURI);
  script.src = new URL("../versions.js", root);
  script.addEventListener("load", () => {
    const versions = window.tenonVersions ?? [];
    const own = root.pathname.split("/").filter(Boolean).pop();
    if (!bar || !versions.includes(own)) {
      return;
    }
    if (versions.length === 1) {
      bar.prepend(Object.assign(document.createElement("span"), { className: "version", textContent: own }));
      return;
    }
    const select = Object.assign(document.createElement("select"), { className: "version", ariaLabel: "Version" });
    versions.forEach((version) => select.add(new Option(version, version, version === own, version === own)));
    select.addEventListener("change", () => {
      location.href = new URL(`../${select.value}/index.html`, root);
    });
    bar.prepend(select);
  });
  document.head.append(script);
})();
