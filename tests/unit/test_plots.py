"""The figures: what they show, what they refuse, and that they leave matplotlib and the reader's output alone."""

import re
import subprocess
import sys

import make_font
import matplotlib as mpl
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from helpers import ROOT
from IPython.core.formatters import DisplayFormatter
from matplotlib.colors import to_hex

from stepformer import plots
from stepformer.examples import EXAMPLES, attention

WEIGHTS = attention()["weights"]
TARGET, SOURCE = ["汤姆", "追逐", "杰瑞", "<eos>"], ["Tom", "chase", "Jerry"]
X = [1, 2, 4]


def texts(ax) -> list[str]:
    """Return what stands in the cells of a matrix."""
    return [text.get_text() for text in ax.texts]


FIGURES = {
    "matrix": lambda: plots.matrix(WEIGHTS, TARGET, SOURCE, "weights", "probability", row_role="target"),
    "scores": lambda: plots.matrix(np.array([[-1.0, 2.0], [0.5, -np.inf]]), title="scores"),
    "mask": lambda: plots.matrix(np.tri(4, dtype=bool), TARGET, TARGET, "mask"),
    "large": lambda: plots.matrix(np.arange(4096.0).reshape(64, 64)),
    "slanted": lambda: plots.matrix(np.ones((2, 9)), None, ["a long label"] * 9),
    "matrices": lambda: plots.matrices({f"temperature {t}": WEIGHTS for t in (0.5, 1, 2)}, TARGET, SOURCE),
    "curves": lambda: plots.curves(
        X, {"formula": X}, points={"measured": X}, x_label="$d_k$", y_label="variance", log_x=True, log_y=True
    ),
    "blocks": lambda: plots.blocks({"post": [["attention"], "norm"], "pre": [["norm", "attention"], "norm"]}),
    "histograms": lambda: plots.histograms({"one": np.arange(9.0), "two": np.ones(4)}, x_label="score"),
    "plane": lambda: plots.plane(np.arange(6.0).reshape(3, 2), SOURCE, ["name", "verb", "name"], title="words"),
    "links": lambda: plots.links(WEIGHTS, TARGET, SOURCE, gold={(0, 0)}, title="attention"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_itself_and_prints_nothing(name, capfd):
    figure = FIGURES[name]()
    data, metadata = DisplayFormatter().format(figure)
    assert data["image/png"].startswith(b"\x89PNG")
    assert metadata["image/png"]["width"] == 720
    assert data["text/plain"].startswith("Figure: ")
    assert capfd.readouterr() == ("", "")


UNUSUAL = {"text.color": "red", "font.size": 30, "axes.labelpad": 40, "xtick.major.size": 20, "legend.fancybox": False}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_drawing_changes_no_setting_and_no_input(name):
    weights = WEIGHTS.copy()
    with mpl.rc_context(UNUSUAL):
        before = dict(mpl.rcParams)
        FIGURES[name]()._repr_png_()
        assert dict(mpl.rcParams) == before
    assert np.array_equal(WEIGHTS, weights)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matrix", "curves"])
def test_drawing_does_not_depend_on_the_readers_settings(name):
    with mpl.rc_context(UNUSUAL):
        unusual = FIGURES[name]()._repr_png_()
    assert unusual == FIGURES[name]()._repr_png_()


def test_pyplot_is_not_loaded():
    code = "import sys; from stepformer import plots; plots.matrix([[1]]); sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_matrix_shows_numbers_labels_title_and_scale():
    figure = plots.matrix([[0.125, -np.inf], [-0.001, -2.5]], ["汤姆", "追逐"], SOURCE[:2], "scores", row_role="target")
    ax, bar = figure.axes
    assert texts(ax) == ["0.13", "−∞", "0.00", "−2.50"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["汤姆", "追逐"]
    assert [label.get_text() for label in ax.get_xticklabels()] == SOURCE[:2]
    assert {to_hex(label.get_color()) for label in ax.get_yticklabels()} == {plots.ROLES["target"].lower()}
    assert ax.get_title(loc="left") == "scores"
    assert [label.get_text() for label in bar.get_xticklabels()] == ["−2.50", "0", "2.50"]


def test_whole_numbers_beside_a_masked_cell_are_shown_without_decimals():
    figure = plots.matrix([[1.0, -np.inf], [-2.0, 12.0]], decimals=0)
    assert texts(figure.axes[0]) == ["1", "−∞", "−2", "12"]
    both = plots.matrices({"a": [[3.0]], "b": [[-np.inf]]}, decimals=0)
    assert [texts(ax) for ax in both.axes[:2]] == [["3"], ["−∞"]]


def test_scales_are_centred_on_zero_or_go_from_0_to_1_and_are_shared():
    diverging = plots.matrices({"a": np.array([[1.0]]), "b": np.array([[-3.0]])})
    assert [ax.images[0].get_clim() for ax in diverging.axes[:2]] == [(-3, 3), (-3, 3)]
    assert plots.matrix([[0.25]], kind="probability").axes[0].images[0].get_clim() == (0, 1)
    assert plots.matrix([[0.0]]).axes[0].images[0].get_clim() == (-1, 1)


def test_a_mask_shows_what_may_be_attended_to_and_needs_no_scale():
    figure = plots.matrix(np.array([[True, False]]))
    assert texts(figure.axes[0]) == ["✓", "·"]
    assert len(figure.axes) == 1


def test_a_large_matrix_shows_colours_only_and_names_some_positions():
    ax = FIGURES["large"]().axes[0]
    assert texts(ax) == []
    assert [label.get_text() for label in ax.get_xticklabels()][:3] == ["0", "4", "8"]


def test_curves_draw_lines_and_points_in_the_colours_of_their_roles():
    lines, roles = {"q": X, "other": X}, {"q": "query"}
    figure = plots.curves(X, lines, points={"measured": X}, roles=roles, x_label="x", y_label="y")
    q, other, measured = figure.axes[0].lines
    assert q.get_color() == plots.ROLES["query"]
    assert {other.get_color(), measured.get_color()}.isdisjoint(plots.ROLES.values())
    assert q.get_linestyle() != "None"
    assert measured.get_linestyle() == "None"
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["q", "other", "measured"]


def test_a_histogram_has_area_one_over_shared_bins():
    ax = plots.histograms({"a": np.arange(100.0), "b": np.arange(50.0)}, x_label="score", bins=10).axes[0]
    outlines = [patch.get_data() for patch in ax.patches if not patch.get_fill()]
    assert len(outlines) == 2
    for heights, edges, _ in outlines:
        assert np.array_equal(edges, np.arange(0.0, 99.1, 9.9))
        assert np.sum(heights * np.diff(edges)) == pytest.approx(1)


def test_panels_are_drawn_in_with_ax():
    figure, (left, right) = plots.panels(2)
    assert plots.matrix(WEIGHTS, ax=left) is figure
    assert plots.curves(X, {"a": X}, x_label="x", y_label="y", title="cost", ax=right) is figure
    assert left.images
    assert right.lines
    assert repr(figure) == "Figure: cost: y against x"


def test_blocks_stand_in_the_order_of_computing_and_a_list_ends_in_a_sum():
    post, pre = plots.blocks({"post": [["a"], "b"], "pre": [["b", "a"], "c"]}).axes

    def order(ax):
        return [
            text.get_text() for text in sorted(ax.texts, key=lambda text: text.get_position()[1]) if text.get_text()
        ]

    assert order(post) == ["a", "+", "b"]
    assert order(pre) == ["b", "a", "+", "c"]
    # The way around begins below the first block of the list and ends at the sum.
    for ax, end in ((post, 1.0), (pre, 2.0)):
        (around,) = ax.lines
        assert around.get_ydata()[0] < 0
        assert around.get_ydata()[-1] == end


def test_a_plane_has_a_word_at_each_point_and_a_marker_for_each_kind():
    points = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]])
    ax = plots.plane(points, SOURCE, ["name", "verb", "name"], title="words").axes[0]
    assert [(text.get_text(), text.xy) for text in ax.texts] == [
        ("Tom", (0, 1)),
        ("chase", (2, 3)),
        ("Jerry", (4, 0)),
    ]
    names, verbs = ax.get_lines()
    assert names.get_xydata().tolist() == [[0, 1], [4, 0]]
    assert verbs.get_xydata().tolist() == [[2, 3]]
    assert names.get_marker() != verbs.get_marker()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["name", "verb"]


def test_links_are_as_thick_as_their_weight_and_dashed_where_nobody_would_draw_them():
    weights = np.array([[0.9, 0.1], [0.04, 0.96]])
    ax = plots.links(weights, ["汤姆", "追逐"], ["Tom", "chases"], gold={(0, 0), (1, 1)}).axes[0]
    lines = ax.get_lines()
    assert len(lines) == 3  # 0.04 is too little for a line
    assert np.argsort([line.get_linewidth() for line in lines]).tolist() == [1, 0, 2]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-"]
    x = {text.get_text(): text.get_position()[0] for text in ax.texts}
    assert lines[1].get_xdata().tolist() == [x["汤姆"], x["chases"]]


def test_ticks_are_in_the_books_font_also_when_matplotlib_chose_them():
    ax = plots.curves([0, 1], {"a": [0, 7]}, x_label="x", y_label="y").axes[0]
    fonts = {label.get_fontproperties().get_name() for label in [*ax.get_xticklabels(), *ax.get_yticklabels()]}
    assert fonts == {"Stepformer Plots"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.matrix(np.ones(3)), r"shape \(3,\)"),
        (lambda: plots.matrix(np.ones((0, 3))), r"shape \(0, 3\)"),
        (lambda: plots.matrix([["a"]]), "matrix of numbers"),
        (lambda: plots.matrix([[np.nan]]), "NaN"),
        (lambda: plots.matrix([[np.inf]]), "infinity"),
        (lambda: plots.matrix([[1.5]], kind="probability"), "1.5"),
        (lambda: plots.matrix([[1.0]], kind="rainbow"), "'rainbow'"),
        (lambda: plots.matrix(WEIGHTS, SOURCE), "row_labels has 3 texts for 4"),
        (lambda: plots.matrix(WEIGHTS, row_role="hero"), "no role 'hero'"),
        (lambda: plots.matrices({"a": np.ones((1, 2)), "b": np.ones((2, 1))}), "one shape"),
        (lambda: plots.matrices({}), "one shape"),
        (lambda: plots.curves(X, {"a": [1]}, x_label="x", y_label="y"), r"'a' has shape \(1,\)"),
        (lambda: plots.curves(X, x_label="x", y_label="y"), "nothing to draw"),
        (lambda: plots.histograms({"a": [np.nan]}, x_label="x"), "finite"),
        (lambda: plots.histograms({}, x_label="x"), "must hold numbers"),
        (lambda: plots.blocks({}), "nothing to draw"),
        (lambda: plots.blocks({"empty": []}), "nothing to draw"),
        (lambda: plots.plane(np.ones((2, 2)), ["a"], ["b"]), r"shape \(2, 2\) with 1 words"),
        (lambda: plots.plane(np.ones((0, 2)), [], []), "each of one or more points"),
        (lambda: plots.links(WEIGHTS, SOURCE, TARGET), "for 3 words below and 4 above"),
        (lambda: plots.links(np.full((1, 1), 1.5), ["a"], ["b"]), "from 0 to 1"),
    ],
)
def test_what_can_not_be_drawn_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_matrices_are_filled_as_in_the_player():
    style = (ROOT / "web" / "player" / "style.css").read_text(encoding="utf-8")
    player = {name: light for name, light in re.findall(r"--(\w+): light-dark\((#\w{6}), #\w{6}\)", style)}
    assert (player["positive"], player["negative"], player["share"]) == (plots.POSITIVE, plots.NEGATIVE, plots.SHARE)
    roles = (ROOT / "web" / "player" / "roles.js").read_text(encoding="utf-8")
    strengths = re.search(r"const STRENGTHS = \[([\d, ]+)\]", roles)[1].split(",")
    assert int(strengths[-1]) == round(100 * plots.STRONGEST)


# ---- the fonts ----------------------------------------------------------------------------------------------------


def characters(font: str) -> set[str]:
    """Return the characters that a font of the figures holds."""
    return set(map(chr, TTFont(make_font.FONTS / font).getBestCmap()))


def test_the_books_own_fonts_come_before_any_that_the_computer_has():
    with plots._style():
        assert mpl.rcParams["font.family"][:2] == ["Stepformer Plots", "Stepformer Plots Chinese"]


def test_every_chinese_character_of_the_book_is_in_the_font():
    needed = set(map(chr, make_font.chinese_in_the_book()))
    assert set("汤姆追逐杰瑞") <= needed
    assert needed <= characters("chinese.otf"), "run scripts/make_font.py"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_label_of_the_examples_can_be_drawn(name):
    trace = EXAMPLES[name]()
    labels = {text for tensor in trace.tensors for labels in trace.axis_labels(tensor.name) for text in labels}
    assert labels
    assert set("".join(labels)) <= characters("latin.otf") | characters("chinese.otf")


@pytest.mark.parametrize("path", plots.FONTS, ids=lambda path: path.name)
def test_a_font_is_small_and_carries_its_licence_and_a_name_of_its_own(path):
    names = {record.nameID: str(record) for record in TTFont(path)["name"].names}
    assert path.stat().st_size <= 200_000
    assert names[1].startswith("Stepformer Plots")
    assert not re.search("Source|Noto", names[1] + names[4] + names[6])
    assert "SIL Open Font License" in names[13]
    licence = (path.parent / "OFL.txt").read_text(encoding="utf-8")
    assert path.name in licence
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
