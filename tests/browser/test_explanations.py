"""Every number that the arithmetic of a player shows is worked out here once more and compared with NumPy's."""

import numpy as np
import pytest
from helpers import finished_chapters
from probe import load_deferred

from stepformer import Trace

# The arithmetic of every cell of every result, evaluated by code that shares nothing with the player's own.
EXPLAINED = """({player}) => {
  const functions = {exp: Math.exp, log: Math.log, max: Math.max, sqrt: Math.sqrt, tanh: Math.tanh,
                     square: (x) => x * x, sin: Math.sin, cos: Math.cos, power: Math.pow,
                     erf: (x) => {  // Simpson's rule on the bell curve
                       const n = 20000, h = x / n, bell = (i) => Math.exp(-((i * h) ** 2));
                       let area = bell(0) + bell(n);
                       for (let i = 1; i < n; i++) area += (i % 2 ? 4 : 2) * bell(i);
                       return 2 / Math.sqrt(Math.PI) * area * h / 3;
                     }};
  const workOut = {
    num: ({value}) => value,
    ref: ({value}) => value,
    var: ({name}, known) => known[name],
    choice: ({args}, known) => number(args[0], known),
    sum: ({args}, known) => args.reduce((total, arg) => total + number(arg, known), 0),
    product: ({args}, known) => args.reduce((total, arg) => total * number(arg, known), 1),
    difference: ({args: [a, b]}, known) => number(a, known) - number(b, known),
    quotient: ({args: [a, b]}, known) => number(a, known) / number(b, known),
    call: ({fn, args}, known) => functions[fn](...args.map((arg) => number(arg, known))),
  };
  const number = (expr, known) => {
    if (!(expr.kind in workOut)) throw new Error(`no rule for ${expr.kind}`);
    const value = workOut[expr.kind](expr, known);
    if (typeof value !== 'number') throw new Error(`${JSON.stringify(expr)} is no number`);
    return value;
  };
  const cells = (values, index = []) =>
    Array.isArray(values) ? values.flatMap((value, i) => cells(value, [...index, i])) : [index];
  const payload = JSON.parse(player.host.querySelector('script[type="application/json"]').textContent);
  const results = {};
  for (const {output} of payload.steps) {
    const {name} = payload.tensors[output];
    // A result that a mistake replaces by given values has no arithmetic.
    const first = cells(player.values(name))[0];
    results[name] = player.explanation(name, first) && cells(player.values(name)).map((index) => {
      const {lets, result} = player.explanation(name, index);
      const known = {};
      for (const {name: part, expr} of lets) known[part] = number(expr, known);
      return number(result, known);
    });
  }
  return results;
}"""


def compare(explained, trace, title):
    """Explained and recorded values agree as two computations in double precision do."""
    for name, numbers in explained.items():
        expected = trace[name].astype(float)
        numbers = np.reshape(numbers, expected.shape)
        masked = np.isneginf(expected)
        np.testing.assert_array_equal(np.isneginf(numbers), masked, err_msg=f"{title}: {name}")
        scale = max(1.0, np.abs(expected[~masked]).max(initial=0))
        np.testing.assert_allclose(
            numbers[~masked], expected[~masked], rtol=0, atol=1e-12 * scale, err_msg=f"{title}: {name}"
        )


@pytest.mark.parametrize("path", finished_chapters(), ids=lambda path: path.stem)
def test_every_cell_of_every_step_of_every_player_is_explained_by_arithmetic_that_gives_its_value(
    path, served, open_page
):
    page = open_page(f"{served}/chapters/{path.stem}.html")
    load_deferred(page)
    players = page.locator("stepformer-player")
    assert players.count() >= 1
    for player in players.all():
        trace = Trace.from_json(player.locator("script[type='application/json']").text_content())
        explained = player.evaluate(EXPLAINED)
        assert len(explained) == len(trace.steps) > 0
        compare(explained, trace, trace.title)
        # A trained model has two dozen heads that can be taken away. They are no other arithmetic, and a minute each.
        for mistake in trace.breaks if len(trace.breaks) < 20 else ():
            player.evaluate("({player}, name) => { player.reset(); player.break(name); }", mistake.name)
            broken = trace.broken(mistake.name)
            explained = player.evaluate(EXPLAINED)
            given = {trace.tensors[trace.find(edit.tensor)].name for edit in mistake.edits if edit.value is not None}
            assert {name for name, numbers in explained.items() if numbers is None} == given & set(explained)
            explained = {name: numbers for name, numbers in explained.items() if numbers is not None}
            compare(explained, broken, f"{trace.title}, {mistake.name}")
