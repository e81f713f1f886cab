"""The map of the whole machine: one drawing of the Transformer whose blocks lead to their chapters.

`{machine-map}` places it on a page. Every chapter page gets it too, folded under its title, its own part lit.
The drawing reads from bottom to top, as figure 1 of "Attention Is All You Need" does.
"""

from dataclasses import dataclass
from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDTH, HEIGHT = 480, 632
# The columns: centre of the blocks, and the outer side along which the residual connection runs.
ENCODER, DECODER = 119, 361
SIDE = {ENCODER: 22, DECODER: 458}
BLOCK_WIDTH = 174
# What a finger hits of a block is so high at least: 24 pixels on a phone, and no two of them meet.
REACH = 36
# What nobody sees can not be marked as found: Sphinx would measure it, fail, and mark nothing more on the page.
UNSEARCHED = 'class="nohighlight"'

# Everything a translator needs.
TEXT = {
    "title": "The whole machine",
    "description": "The Transformer, drawn from bottom to top. Source tokens pass through embedding and "
    "positions into a stack of N encoder layers. Target tokens pass through embedding and positions into a "
    "stack of N decoder layers, which also read the encoder's output, the memory. A linear layer and softmax "
    "turn the result into the next token.",
    "source_tokens": "Tom chase Jerry",
    "target_tokens": "<bos> 汤姆 追逐 杰瑞",
    "output_tokens": "汤姆 追逐 杰瑞 <eos>",
    "memory": "memory",
    "query": "query",
    "key": "key",
    "value": "value",
    "residual": "residual connection",
    "caption": "The Transformer, from the tokens at the bottom to the next token at the top. Blocks with a "
    "solid edge are links to a chapter; dashed ones have no chapter yet.",
    "here": "{block}: the subject of this chapter",
    "link": "{block}: read “{chapter}”",
    "not_written": "{block}: not written yet",
    "summary": "Where this chapter sits in the machine",
    "summary_outside": "The machine this chapter prepares for",
    "open": "open the map",
}


@dataclass(frozen=True)
class Block:
    """One block of the drawing: its words, its place, and the chapters it may lead to, the best one first.

    The name is what a screen reader says; it begins with the words on the block.
    """

    lines: tuple[str, ...]
    name: str
    centre: int
    top: int
    height: int
    chapters: tuple[str, ...]
    kind: str = ""


INPUT = ("10_input_block", "01_tokens_and_vectors")
POSITIONS = ("09_positional_encoding",)
SELF = ("06_self_attention", "05_attention")
CROSS = ("07_cross_attention", "05_attention")
LAYER = ("11_encoder",)
OUTPUT = ("13_output",)
NORM = ("Add & Norm",)
FEED = ("Feed-forward",)

# In the order in which the data passes through them, which is also the order of the Tab key.
BLOCKS = {
    "source_embedding": Block(("Embedding",), "Embedding of the source", ENCODER, 546, 32, INPUT),
    "source_positions": Block(("positions",), "positions of the source", 30, 0, 0, POSITIONS, "positions"),
    "encoder": Block(("Encoder × N",), "Encoder × N", ENCODER, 274, 214, ("11_encoder",), "stack"),
    "encoder_self": Block(
        ("Multi-head", "self-attention"),
        "Multi-head self-attention of the encoder",
        ENCODER,
        404,
        46,
        SELF,
        "attention",
    ),
    "encoder_norm_1": Block(NORM, "Add & Norm after the encoder's self-attention", ENCODER, 372, 24, LAYER),
    "encoder_feed": Block(FEED, "Feed-forward network of the encoder", ENCODER, 320, 32, LAYER),
    "encoder_norm_2": Block(
        NORM,
        "Add & Norm after the encoder's feed-forward network",
        ENCODER,
        288,
        24,
        LAYER,
    ),
    "target_embedding": Block(("Embedding",), "Embedding of the target", DECODER, 546, 32, INPUT),
    "target_positions": Block(("positions",), "positions of the target", 450, 0, 0, POSITIONS, "positions"),
    "decoder": Block(("Decoder × N",), "Decoder × N", DECODER, 150, 338, ("12_decoder",), "stack"),
    "decoder_self": Block(
        ("Masked multi-head", "self-attention"),
        "Masked multi-head self-attention of the decoder",
        DECODER,
        404,
        46,
        SELF,
        "attention",
    ),
    "decoder_norm_1": Block(NORM, "Add & Norm after the decoder's self-attention", DECODER, 372, 24, LAYER),
    "decoder_cross": Block(
        ("Multi-head", "cross-attention"),
        "Multi-head cross-attention of the decoder",
        DECODER,
        284,
        46,
        CROSS,
        "attention",
    ),
    "decoder_norm_2": Block(NORM, "Add & Norm after the decoder's cross-attention", DECODER, 252, 24, LAYER),
    "decoder_feed": Block(FEED, "Feed-forward network of the decoder", DECODER, 198, 32, LAYER),
    "decoder_norm_3": Block(
        NORM,
        "Add & Norm after the decoder's feed-forward network",
        DECODER,
        164,
        24,
        LAYER,
    ),
    "linear": Block(("Linear",), "Linear layer before the output", DECODER, 94, 30, OUTPUT),
    "softmax": Block(("Softmax",), "Softmax over the vocabulary", DECODER, 46, 30, OUTPUT),
}

ATTENTION = ("encoder_self", "decoder_self", "decoder_cross")
EMBEDDING = ("source_embedding", "target_embedding")
BOTH_POSITIONS = ("source_positions", "target_positions")
ENCODER_LAYER = ("encoder", "encoder_self", "encoder_norm_1", "encoder_feed", "encoder_norm_2")
DECODER_LAYER = tuple(name for name in BLOCKS if name.startswith("decoder"))
# The part of the machine that each chapter is about; a chapter without a row prepares for it.
LIT = {
    "01_tokens_and_vectors": EMBEDDING,
    "02_feed_forward_and_convolution": ("encoder_feed", "decoder_feed"),
    "04_encoder_decoder": ("encoder", "decoder"),
    "05_attention": ATTENTION,
    "06_self_attention": ("encoder_self", "decoder_self"),
    "07_cross_attention": ("decoder_cross",),
    "08_multi_head_attention": ATTENTION,
    "09_positional_encoding": BOTH_POSITIONS,
    "10_input_block": EMBEDDING + BOTH_POSITIONS,
    "11_encoder": ENCODER_LAYER,
    "12_decoder": DECODER_LAYER,
    "13_output": ("linear", "softmax"),
    **dict.fromkeys(
        ("14_transformer", "15_gradients", "16_training", "17_decoding_and_evaluation", "18_looking_inside",
         "19_scaling_up"),
        tuple(BLOCKS),
    ),
}


def path(points: str, *classes: str, arrow: bool = False) -> str:
    """Draw one line of the flow; `points` is the data of an SVG path."""
    head = ' marker-end="url(#machine-arrow)"' if arrow else ""
    return f'<path class="{" ".join(("flow", *classes))}" d="{points}"{head}/>'


def residual(column: int, fork: int, norm: str) -> str:
    """Draw the connection that leaves the stream at height `fork` and joins it again in the block `norm`."""
    side, middle = SIDE[column], BLOCKS[norm].top + BLOCKS[norm].height // 2
    edge = column + (BLOCK_WIDTH // 2 if side > column else -BLOCK_WIDTH // 2)
    inward = -8 if side > column else 8
    return path(
        f"M{column} {fork}H{side - (8 if side > column else -8)}Q{side} {fork} {side} {fork - 8}"
        f"V{middle + 8}Q{side} {middle} {side + inward} {middle}H{edge}",
        "residual",
        arrow=True,
    )


def value_key_query(column: int, top: int, fork: int) -> str:
    """Fork the stream at height `fork` into the value, the key and the query of an attention block."""
    return "".join(
        path(
            f"M{column} {fork}H{column + shift}V{top}" if shift else f"M{column} {fork}V{top}",
            role,
            arrow=True,
        )
        for shift, role in ((-34, "value"), (0, "key"), (34, "query"))
    )


def flow() -> str:
    """Draw everything that is not a block: the stream, its forks, the memory, the residual connections."""
    parts = []
    for column in (ENCODER, DECODER):
        parts += [
            path(f"M{column} 594V578", arrow=True),
            path(f"M{column} 546V528", arrow=True),
            path(f"M{column} 504V472"),
            value_key_query(column, 450, 472),
            path(f"M{column} 404V396"),
        ]
    parts += [
        path(f"M{ENCODER} 372V352", arrow=True),
        path(f"M{ENCODER} 320V312"),
        residual(ENCODER, 480, "encoder_norm_1"),
        residual(ENCODER, 363, "encoder_norm_2"),
        residual(DECODER, 480, "decoder_norm_1"),
        residual(DECODER, 356, "decoder_norm_2"),
        residual(DECODER, 241, "decoder_norm_3"),
        path(f"M{DECODER} 372V356"),
        path(f"M{DECODER} 356H{DECODER + 34}V330", "query", arrow=True),
        path(f"M{DECODER} 284V276"),
        path(f"M{DECODER} 252V230", arrow=True),
        path(f"M{DECODER} 198V188"),
        path(f"M{DECODER} 164V124", arrow=True),
        path(f"M{DECODER} 94V76", arrow=True),
        path(f"M{DECODER} 46V32", arrow=True),
        path(f"M{ENCODER} 288V248Q{ENCODER} 240 {ENCODER + 8} 240H232Q240 240 240 248V340Q240 348 248 348H327"),
        path("M327 348V330", "value", arrow=True),
        path(f"M327 348H{DECODER}V330", "key", arrow=True),
    ]
    for column, wave in ((ENCODER, 30), (DECODER, 450)):
        start, end = (wave + 13, column - 12) if wave < column else (wave - 13, column + 12)
        parts += [
            path(f"M{start} 516H{end}", arrow=True),
            f'<circle class="sum" cx="{column}" cy="516" r="10"/>',
            f'<path class="flow" d="M{column - 6} 516h12M{column} 510v12"/>',
        ]
    return "".join(parts)


def words() -> str:
    """Write the tokens, the name of the memory and the key to the colours."""
    return "".join(
        [
            text(ENCODER, 612, TEXT["source_tokens"], "tokens source"),
            text(DECODER, 612, TEXT["target_tokens"], "tokens target"),
            text(DECODER, 22, TEXT["output_tokens"], "tokens target"),
            text(180, 234, TEXT["memory"], "note"),
            *(
                path(f"M14 {y}h26", role, arrow=True) + text(54, y + 5, TEXT[role], "note start")
                for y, role in ((46, "query"), (70, "key"), (94, "value"), (118, "residual"))
            ),
        ]
    )


def text(x: int, y: int, content: str, classes: str = "") -> str:
    """Write one line, centred on x unless a class says otherwise."""
    return f'<text class="{classes}" x="{x}" y="{y}">{escape(content)}</text>'


def shape(block: Block) -> str:
    """Draw a block and its words."""
    if block.kind == "stack":
        left = block.centre - 107
        label = f'<rect class="plate" x="{left}" y="{block.top - 25}" width="98" height="24" rx="4"/>'
        frame = f'<rect class="frame" x="{left}" y="{block.top}" width="214" height="{block.height}" rx="12"/>'
        return frame + label + text(left + 6, block.top - 8, block.lines[0], "start")
    if block.kind == "positions":
        x = block.centre
        wave = f"M{x - 8} 516q4 -13 8 0t8 0"
        label = text(x + 46 if x < WIDTH // 2 else x - 46, 506, block.lines[0], "note")
        return f'<circle class="plate edge" cx="{x}" cy="516" r="13"/><path class="wave" d="{wave}"/>' + label
    left = block.centre - BLOCK_WIDTH // 2
    rect = f'x="{left}" y="{block.top}" width="{BLOCK_WIDTH}" height="{block.height}" rx="6"'
    room = max(REACH - block.height, 0)
    reach = f'x="{left}" y="{block.top - room / 2:g}" width="{BLOCK_WIDTH}" height="{block.height + room}"'
    first = block.top + block.height / 2 + 5 - 9 * (len(block.lines) - 1)
    lines = [text(block.centre, int(first + 18 * i), line) for i, line in enumerate(block.lines)]
    return f'<rect class="reach" {reach}/><rect class="plate edge" {rect}/>' + " ".join(lines)


def linked(name: str, target: tuple[str, str] | None, lit: bool) -> str:
    """Wrap a block as a link, as the part this chapter is about, or as a part without a chapter."""
    block = BLOCKS[name]
    classes = " ".join(filter(None, ("block", block.kind, "current" if lit else "", "" if target or lit else "quiet")))
    if target:
        label = TEXT["link"].format(block=block.name, chapter=target[1])
        here = ' aria-current="true"' if lit else ""
        address = f'href="{escape(target[0])}" aria-label="{escape(label)}"{here}'
        return f'<a class="{classes}" {address}>{shape(block)}</a>'
    label = TEXT["here" if lit else "not_written"].format(block=block.name)
    return f'<g class="{classes}"><title {UNSEARCHED}>{escape(label)}</title>{shape(block)}</g>'


def glyph(lit: tuple[str, ...]) -> str:
    """Draw the blocks alone, small, for the line under a chapter's title."""
    parts = []
    for name, block in BLOCKS.items():
        state = "current" if name in lit else ""
        if block.kind == "stack":
            rect = f'x="{block.centre - 107}" y="{block.top}" width="214" height="{block.height}" rx="14"'
            parts.append(f'<rect class="frame {state}" {rect}/>')
        elif block.kind == "positions":
            parts.append(f'<circle class="{state}" cx="{block.centre}" cy="516" r="14"/>')
        else:
            left = block.centre - BLOCK_WIDTH // 2
            rect = f'x="{left}" y="{block.top}" width="{BLOCK_WIDTH}" height="{block.height}" rx="6"'
            parts.append(f'<rect class="{state}" {rect}/>')
    return f'<svg class="machine-glyph" viewBox="0 30 {WIDTH} 560" aria-hidden="true">{"".join(parts)}</svg>'


def drawing(targets: dict[str, tuple[str, str]], lit: tuple[str, ...] = ()) -> str:
    """Draw the map; `targets` gives the address and the title of the chapter that a block leads to."""
    arrow = (
        '<marker id="machine-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M1 1 7 4 1 7" fill="none" stroke="context-stroke" stroke-width="1.4"/>'
        "</marker>"
    )
    stacks = [linked(name, targets.get(name), name in lit) for name in BLOCKS if BLOCKS[name].kind == "stack"]
    blocks = [linked(name, targets.get(name), name in lit) for name in BLOCKS if BLOCKS[name].kind != "stack"]
    return (
        f'<svg class="machine-map" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" '
        f'aria-label="{escape(TEXT["title"])}"><desc {UNSEARCHED}>{escape(TEXT["description"])}</desc>'
        f"<defs>{arrow}</defs>"
        f"{''.join(stacks)}<g aria-hidden='true'>{flow()}</g>{words()}{''.join(blocks)}</svg>"
    )


class MachineMap(nodes.General, nodes.Element):
    """The place of the map in a document; `chapter` is set on chapter pages."""


class MachineMapDirective(SphinxDirective):
    """`{machine-map}`: the whole machine, with a link from every block that has a chapter."""

    def run(self) -> list[nodes.Node]:
        """Leave a node; the drawing is made when the page is written and all chapters are known."""
        return [MachineMap()]


def add_to_chapter(app, doctree) -> None:
    """Put the folded map under the title of a chapter."""
    folder, _, chapter = app.env.docname.rpartition("/")
    title = next(iter(doctree.findall(nodes.title)), None)
    if folder == "chapters" and title is not None:
        title.parent.insert(title.parent.index(title) + 1, MachineMap(chapter=chapter))


def visit(translator, node) -> None:
    """Write the map as HTML."""
    builder = translator.builder
    page = builder.current_docname
    targets = {}
    for name, block in BLOCKS.items():
        docname = next((f"chapters/{c}" for c in block.chapters if f"chapters/{c}" in builder.env.all_docs), None)
        if docname and docname != page:
            targets[name] = (builder.get_relative_uri(page, docname), builder.env.titles[docname].astext())
    chapter = node.get("chapter")
    if chapter is None:
        caption = escape(TEXT["caption"])
        translator.body.append(f'<figure class="machine">{drawing(targets)}<figcaption>{caption}</figcaption></figure>')
    else:
        lit = LIT.get(chapter, ())
        summary = escape(TEXT["summary" if lit else "summary_outside"])
        translator.body.append(
            f'<details class="machine-here"><summary>{glyph(lit)}<span>{summary} '
            f'<span class="machine-open">{escape(TEXT["open"])}</span></span></summary>'
            f'<figure class="machine">{drawing(targets, lit)}</figure></details>'
        )
    raise nodes.SkipNode


def skip(translator, node) -> None:
    """Leave the map out of formats without SVG."""
    raise nodes.SkipNode


def setup(app) -> None:
    """Register the node, the directive and the map of the chapters."""
    others = dict.fromkeys(("latex", "text", "man", "texinfo"), (skip, None))
    app.add_node(MachineMap, html=(visit, None), **others)
    app.add_directive("machine-map", MachineMapDirective)
    app.connect("doctree-read", add_to_chapter)
