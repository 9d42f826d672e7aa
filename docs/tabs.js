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
