// Elements that scripts add to pages.

/** Makes an element with properties and content. */
export function made(name, properties, ...content) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...content);
  return element;
}

/** Makes a button that does something. */
export function plainButton(words, does) {
  const button = made("button", { type: "button", className: "plain" }, words);
  button.addEventListener("click", does);
  return button;
}
