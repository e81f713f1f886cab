"""`stepformer ledger`: count what a Transformer costs, and what it costs to train it."""

import argparse
import json
import sys
from collections.abc import Sequence

from stepformer import training_ledger
from stepformer.model_ledger import FIELDS, PRESETS, ConfigurationError, Field, ledger, write_number
from stepformer.training_ledger import TRAINING_FIELDS


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "ledger",
        help="count the parameters and FLOPs of a Transformer, or what its training costs",
        description="Count the parameters and FLOPs of a Transformer, block by block; or the FLOPs, the memory and the "
        "time of its training. A setting that is not given is that of the preset. Base and big are the paper's, with "
        "the vocabulary that its table 3 implies for each.",
        epilog="examples:\n"
        "  stepformer ledger --preset big\n"
        "  stepformer ledger --d-model 256 --n-heads 4 --n-layers 4 --json\n"
        "  stepformer ledger --src-vocab-size 8000 --tgt-vocab-size 6000 --no-share-embeddings\n"
        "  stepformer ledger --training --preset base_billion --devices 64 --utilisation 40\n\n"
        "FLOPs are those of one forward pass over a pair of sentences, for each token of the target; a product of\n"
        "(n, k) and (k, m) takes 2·n·k·m. A training step takes three times as many. What the numbers\n"
        "of a training rest on stands on the page Ledger of the book; all of it can be set.\n\n"
        "exit codes: 0 counted; 2 wrong usage, such as settings that do not fit together.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    presets = list(PRESETS | training_ledger.PRESETS)
    parser.add_argument("--preset", choices=presets, default="base", help="where to start from (default: base)")
    parser.add_argument("--training", action="store_true", help="count what the training costs")
    _add_fields(parser, FIELDS)
    _add_fields(parser.add_argument_group("with --training"), TRAINING_FIELDS)
    parser.add_argument("--json", action="store_true", help="print the count as JSON")
    parser.set_defaults(run=_ledger)


def _add_fields(parser: argparse._ActionsContainer, fields: Sequence[Field]) -> None:
    for field in fields:
        flag = "--" + field.name.replace("_", "-")
        if field.is_switch:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=field.meaning)
        else:
            parser.add_argument(flag, type=int, metavar="N", help=field.meaning)


def _ledger(options: argparse.Namespace) -> int:
    fields = FIELDS + TRAINING_FIELDS
    given = {f.name: int(getattr(options, f.name)) for f in fields if getattr(options, f.name) is not None}
    try:
        if options.training:
            _print_training(options, given)
        else:
            _check_that_no_training_is_meant(options.preset, given)
            _print_model(options, given)
    except ConfigurationError as error:
        print(f"stepformer ledger: {error}", file=sys.stderr)
        return 2
    return 0


def _check_that_no_training_is_meant(preset: str, given: dict[str, int]) -> None:
    if preset not in PRESETS:
        raise ConfigurationError(f"preset {preset} is a training; give --training too")
    if of_training := [field.name for field in TRAINING_FIELDS if field.name in given]:
        raise ConfigurationError(f"{of_training[0]} belongs to a training; give --training too")


def _print_training(options: argparse.Namespace, given: dict[str, int]) -> None:
    settings = training_ledger.PRESETS[options.preset] | given
    count = training_ledger.cost(settings)
    if options.json:
        print(json.dumps(vars(count)))
        return
    _print_settings(count.settings)
    for text, amount in training_ledger.lines(settings):
        print(f"{text:<40}{amount:>20}")


def _print_settings(settings: dict[str, int]) -> None:
    print("  ".join(f"{name}={value}" for name, value in settings.items()) + "\n")


def _print_model(options: argparse.Namespace, given: dict[str, int]) -> None:
    count = ledger(PRESETS[options.preset] | given)
    if options.json:
        print(json.dumps(vars(count)))
        return
    _print_settings(count.configuration)
    total = {"block": "all", "parameters": count.parameters, "flops_per_token": count.flops_per_token}
    print(f"{'block':<24}{'parameters':>20}{'FLOPs per token':>20}")
    for row in [*count.by_block, total]:
        print(f"{row['block']:<24}{write_number(row['parameters']):>20}{write_number(row['flops_per_token']):>20}")
