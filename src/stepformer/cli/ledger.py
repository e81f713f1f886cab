"""`stepformer ledger`: count what a Transformer costs."""

import argparse
import json
import sys

from stepformer.model_ledger import FIELDS, PRESETS, ConfigurationError, ledger, write_number


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "ledger",
        help="count the parameters and FLOPs of a Transformer, block by block",
        description="Count the parameters and FLOPs of a Transformer, block by block. A setting that is not given is "
        "that of the preset. Base and big are the paper's, with the vocabulary that its table 3 implies for each.",
        epilog="examples:\n"
        "  stepformer ledger --preset big\n"
        "  stepformer ledger --d-model 256 --n-heads 4 --n-layers 4 --json\n"
        "  stepformer ledger --src-vocab-size 8000 --tgt-vocab-size 6000 --no-share-embeddings\n\n"
        "FLOPs are those of one forward pass over a pair of sentences, for each token of the target; a product of\n"
        "(n, k) and (k, m) takes 2·n·k·m. A training step takes about three times as many.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--preset", choices=PRESETS, default="base", help="where to start from (default: base)")
    for field in FIELDS:
        flag = "--" + field.name.replace("_", "-")
        if field.is_switch:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=field.meaning)
        else:
            parser.add_argument(flag, type=int, metavar="N", help=field.meaning)
    parser.add_argument("--json", action="store_true", help="print the count as JSON")
    parser.set_defaults(run=_ledger)


def _ledger(options: argparse.Namespace) -> int:
    given = {field.name: getattr(options, field.name) for field in FIELDS}
    try:
        count = ledger(PRESETS[options.preset] | {name: int(x) for name, x in given.items() if x is not None})
    except ConfigurationError as error:
        print(f"stepformer ledger: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(vars(count)))
        return 0
    print("  ".join(f"{name}={value}" for name, value in count.configuration.items()))
    total = {"block": "all", "parameters": count.parameters, "flops_per_token": count.flops_per_token}
    print(f"\n{'block':<24}{'parameters':>20}{'FLOPs per token':>20}")
    for row in [*count.by_block, total]:
        print(f"{row['block']:<24}{write_number(row['parameters']):>20}{write_number(row['flops_per_token']):>20}")
    return 0
