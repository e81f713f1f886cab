"""Pages carry the style rules that they need, and ask for scripts, pictures and nothing else later."""

import pytest
import tinycss2
from stepformer_book.light_pages import with_late_code, with_late_pictures, with_late_scripts
from stepformer_book.page_styles import PageStyles, page_words, script_words, without_unused


def kept(styles, *words):
    """Return what stays of a style sheet where only these words occur."""
    return without_unused(tinycss2.parse_stylesheet(styles, True, True), set(words))


@pytest.mark.parametrize(
    ("styles", "words", "left"),
    [
        (".here{a:b}", ["here"], ".here{a:b}"),
        (".gone{a:b}", ["here"], ""),
        (".here .gone{a:b}", ["here"], ""),
        (".here,.gone{a:b}", ["here"], ".here{a:b}"),
        ("#here>p.gone{a:b}", ["here", "p"], ""),
        ("#gone p{a:b}", ["p"], ""),
        ("aside{a:b}p{c:d}", ["p"], "p{c:d}"),
        ("p:hover::before{a:b}", ["p"], "p:hover::before{a:b}"),
        ("p:not(.gone),p:is(.gone,.other){a:b}", ["p"], "p:not(.gone),p:is(.gone,.other){a:b}"),
        ("[data-gone=here] p{a:b}", ["p"], "[data-gone=here] p{a:b}"),
        ("*{a:b}", [], "*{a:b}"),
        (".-gone-too{a:b}", ["gone"], ""),
        (r".w\:50{a:b}", [], r".w\:50{a:b}"),
        ("@media print{.gone{a:b}p{c:d}}", ["p"], "@media print{p{c:d}}"),
        ("@media print{.gone{a:b}}", ["p"], ""),
        ("@supports (a:b){@media print{p{c:d}}}", ["p"], "@supports (a:b){@media print{p{c:d}}}"),
    ],
)
def test_a_rule_stays_where_all_that_it_names_occurs(styles, words, left):
    assert kept(styles, *words) == left


def test_a_broken_style_sheet_is_refused():
    with pytest.raises(ValueError, match="cannot be read at line 2"):
        kept("p{a:b}\n}", "p")


def test_the_words_of_a_page_are_those_of_its_tags():
    page = '<p class="one two" title="a > b" id=three>four</p><script>{"x": "\\u003cb five>"}</script>'
    assert {"p", "class", "one", "two", "three"} <= page_words(page)
    assert not {"four", "five"} & page_words(page)


def test_the_words_of_scripts_are_those_of_their_texts():
    words = script_words(["show(x.hidden, 'first', \"second third\", `<i class=\"fourth\">`, 'carousel-item')"])
    assert {"first", "second", "third", "i", "fourth"} <= words
    assert not {"hidden", "show", "carousel-item"} & words, "Bootstrap knows parts that no page has"


def test_a_page_carries_its_styles_in_order_with_addresses_from_where_it_stands(tmp_path):
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    (static / "basic.css").write_text("p{background:url(dot.png)}")
    (static / "styles" / "theme.css").write_text(
        '@charset "utf-8";@import "../basic.css";p{color:red}.gone{color:red}i{background:url("data:,x")}'
    )
    (static / "stepformer.css").write_text(
        "@font-face{src:url(fonts/a.woff2)}.ours-later{color:blue}.added{color:blue}"
    )
    (static / "theme.js").write_text("add('added')")
    (tmp_path / "search.html").write_text("")
    page = (
        '<head><meta charset="utf-8" /><link href="../_static/styles/theme.css?digest=1" rel="stylesheet" />\n'
        '<link rel="stylesheet" type="text/css" href="../_static/stepformer.css?v=2" />\n<link rel="icon" href="x" />'
        "</head><p>Text <i>here</i></p>"
    )
    made = PageStyles(tmp_path).put_in(page, tmp_path / "chapters" / "one.html")
    places = [
        made.index(part)
        for part in ("<style>", "url(../_static/dot.png)", "color:red", 'url("data:,x")',
                     "url(../_static/fonts/a.woff2)", ".ours-later", "</style>")
    ]  # fmt: skip
    assert places == sorted(places)
    assert "gone" not in made
    assert "charset " not in made.partition("<style>")[2]
    assert 'rel="stylesheet"' not in made
    assert '<link rel="icon" href="x" />' in made
    assert made.endswith("<p>Text <i>here</i></p>")


def test_scripts_wait_in_their_order_and_the_options_are_there_before_them():
    page = (
        '<script src="../_static/documentation_options.js?v=9"></script><script src="a.js"></script>'
        '<script>OPTIONS.x = 1;</script><script defer="defer" src="b.js?v=1"></script>'
        '<script type="application/json">{}</script><script src="../_static/design-tabs.js"></script></body></html>'
    )
    made = with_late_scripts(page, "const OPTIONS = {};")
    assert made.startswith(
        "<script>const OPTIONS = {};</script><script>OPTIONS.x = 1;</script>"
        '<script type="application/json">{}</script><script>'
    )
    assert made.endswith('})(["a.js", "b.js?v=1"]);\n</script>\n</body></html>')
    assert " src=" not in made
    tabs = with_late_scripts(f'<div class="sd-tab-set"></div>{page}', "")
    assert '<script defer src="../_static/design-tabs.js"></script>' in tabs
    assert tabs.endswith('})(["a.js", "b.js?v=1"]);\n</script>\n</body></html>')


def test_pictures_wait_in_a_place_of_their_size():
    page = '<img alt="x" src="../_images/a.png" style="width: 720px; height: 246px;"><img src="logo.svg">'
    assert with_late_pictures(page) == (
        '<img loading="lazy" decoding="async" width="720" height="246" alt="x" src="../_images/a.png" '
        'style="width: 720px; height: 246px;"><img src="logo.svg">'
    )
    assert with_late_pictures(with_late_pictures(page)) == with_late_pictures(page)


def test_a_block_of_code_says_how_many_lines_it_has():
    page = "<pre>a\n</pre>text<pre><span></span><b>a &lt; 1\n\nc</b>\n\n</pre>"
    assert with_late_code(page) == (
        '<pre style="--lines: 1">a\n</pre>text<pre style="--lines: 4"><span></span><b>a &lt; 1\n\nc</b>\n\n</pre>'
    )
    assert with_late_code(with_late_code(page)) == with_late_code(page)
