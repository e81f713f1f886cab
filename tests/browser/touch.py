"""Whether a finger hits what can be touched: WCAG 2.5.8, as JavaScript that a test evaluates on an element of ours."""

# 24 × 24 pixels, or a circle of 24 pixels around the middle that meets no other target and no other circle. The box
# around a matrix that scrolls only takes the focus. Points on a drawing have their buttons beside it.
TOO_SMALL = """(element) => {
  const wanted = 'button, [role=button], input, select, summary, textarea, a[href], [role=gridcell], [tabindex="0"], ' +
    '.tr-to li';
  const within = (root) => [...root.querySelectorAll('*')].flatMap((one) => [one, ...below(one)]);
  const below = ({ shadowRoot }) => (shadowRoot ? within(shadowRoot) : []);
  const all = within(element.shadowRoot ?? element).filter((one) => one.matches(wanted));
  const targets = [...new Set(all.map((one) => one.closest('label') ?? one))]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.matches('.box'))
    .map((one) => ({ one, box: one.getBoundingClientRect() })).filter(({ box }) => box.width);
  const small = targets.filter(({ box }) => box.width < 23.99 || box.height < 23.99);
  const middle = ({ left, top, width, height }) => [left + width / 2, top + height / 2];
  const far = ([x, y], { left, right, top, bottom }) =>
    Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
  return small.filter((a) => targets.some((b) => b !== a && !a.one.contains(b.one) && !b.one.contains(a.one) &&
      (far(middle(a.box), b.box) < 12 || (small.includes(b) &&
        Math.hypot(middle(a.box)[0] - middle(b.box)[0], middle(a.box)[1] - middle(b.box)[1]) < 24))))
    .map(({ one, box }) => `${box.width.toFixed(1)} × ${box.height.toFixed(1)}: ${one.outerHTML.slice(0, 90)}`);
}"""
