"""`stepformer train`: train a model, stop, go on."""

import argparse
import sys
from pathlib import Path
from typing import Any

from stepformer.cli._common import InputError, UsageError, check_path, print_json, visible

EXAMPLES = """examples:
  stepformer train --preset small --data grammar --out runs/a
  stepformer train --preset small --set optimiser.lr=0.002 --set budget.steps=1000 --out runs/b
  stepformer train --config mine.toml --data pairs.tsv --out runs/c
  stepformer train --resume --out runs/a
  stepformer train --preset base --show > mine.toml
  torchrun --nproc-per-node 2 --no-python stepformer train --preset base --out runs/d

Ctrl-C lets the step end, writes a checkpoint and stops; --resume goes on as if nothing had been. Whoever is killed
loses the steps since the last checkpoint (budget.checkpoint_every). The trained model is in DIR/model, the log in
DIR/log.jsonl.

Under torchrun the processes share every batch, and --resume goes on with any number of them. Their number changes last
digits, of which a long training of a large model makes much; with compute.parts = 2 one process gives the bits of two.
For memory and speed there are compute.parts, recompute, precision, compile and device (--show).

exit codes: 0 trained, 1 data or checkpoint broken or the loss no number, 2 settings that do not fit, 130 stopped and
saved"""


MOST_THREADS = 1024


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "train",
        help="train a model, or go on with a training",
        description="Train a model, or go on with a training that was stopped, bit for bit.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--preset", metavar="NAME", help="core, small, base, gru, gru_attention or hsk")
    source.add_argument("--config", metavar="FILE", help="a TOML file; --show prints one to begin with")
    parser.add_argument("--data", metavar="SOURCE", help="grammar, hsk, or a TSV file with two columns: data.source")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings",
                        help="change a setting, such as optimiser.lr=0.002; may be repeated")  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="where to (default: runs/ and the title)")
    parser.add_argument("--resume", metavar="STEP", nargs="?", type=int, const=True, default=False,
                        help="go on from the newest checkpoint in DIR, or from that of a step")  # fmt: skip
    parser.add_argument("--skip", action="store_true", help="leave out lines of a file that do not fit, and count them")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="processor threads (default: 1)")
    parser.add_argument("--show", action="store_true", help="print the configuration and do nothing")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=_train)


def _train(options: argparse.Namespace) -> int:
    from stepformer.train.config import ConfigError

    check_path("train: --config", options.config)
    check_path("train: --out", options.out, "the path of a folder")
    options.config, options.out = (None if path is None else Path(path) for path in (options.config, options.out))
    try:
        config = _config(options)
    except ConfigError as error:
        raise UsageError(f"train: {error}") from None
    if options.show:
        print(config.to_toml(), end="")
        return 0
    out = options.out or Path("runs") / (config.title or "model")
    try:
        return _run(config, out, options)
    except ConfigError as error:
        raise UsageError(f"train: {error}") from None


def _config(options: argparse.Namespace) -> Any:
    from stepformer.train.config import Config, ConfigError
    from stepformer.train.trainer import CONFIG_FILE

    if options.preset is not None:
        config = Config.preset(options.preset)
    elif options.config is not None:
        config = Config.from_toml(options.config)
    elif options.resume is not False and options.out is not None:
        if not (options.out / CONFIG_FILE).is_file():
            raise ConfigError(f"{options.out} holds no training that could go on: it has no {CONFIG_FILE}.")
        config = Config.from_toml(options.out / CONFIG_FILE)
    else:
        raise ConfigError("say what to train: --preset small, --config FILE, or --resume --out DIR.")
    if options.resume is not False and options.resume < 1:
        raise ConfigError(f"--resume is {options.resume}; the steps are counted from 1.")
    settings = {}
    for one in options.settings:
        key, equals, value = one.partition("=")
        if not equals:
            raise ConfigError(f"--set {one}: it must be KEY=VALUE, such as optimiser.lr=0.002.")
        settings[key.strip()] = value.strip()
    if options.data is not None:
        settings["data.source"] = options.data if options.data in ("grammar", "hsk") else f'"{_escaped(options.data)}"'
    if not 1 <= options.threads <= MOST_THREADS:
        raise ConfigError(f"--threads is {options.threads}; it must be from 1 to {MOST_THREADS:,}.")
    return config.with_settings(settings)


def _escaped(text: str) -> str:
    """A path as TOML writes it."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _run(config: Any, out: Path, options: argparse.Namespace) -> int:
    import torch

    from stepformer.checkpoint import CheckpointError
    from stepformer.data.pairs import PairError
    from stepformer.train import TrainingError, WorkerError, bar, joined, load_data, train
    from stepformer.train.trainer import MODEL

    torch.set_num_threads(options.threads)
    if config.compute.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("train: compute.device is 'cuda', and torch finds no GPU that it could use.")
    try:
        with joined(config.compute.device) as workers:
            quiet = options.quiet or not workers.is_first
            data = load_data(config.data, skip=options.skip)
            if not quiet:
                _say(f"{len(data.train):,} pairs to learn from, {len(data.dev):,} to measure on: {data.title}")
                for reason, n in data.left_out.items():
                    _say(f"left out: {n:,}, {reason}")
            observers = [] if quiet else bar()
            run = train(config, data, out, resume=options.resume, observers=observers, workers=workers)
    except PairError as error:
        raise InputError(f"train: {error} (--skip leaves such lines out)") from None
    except (CheckpointError, TrainingError, WorkerError, ImportError, OSError) as error:
        raise InputError(f"train: {error}") from None
    if not workers.is_first:
        return 130 if run.stopped == "interrupted" else 0
    again = f"stepformer train --resume --out {out}"
    stopped = run.stopped == "interrupted"
    if options.json:
        result = {
            "directory": str(out),
            "model": None if stopped else str(out / MODEL),
            "steps": run.step,
            "stopped": run.stopped,
            "dev_loss": run.dev.loss,
            "dev_exact": run.dev.exact,
            "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        }
        print_json(result)
    elif stopped:
        print(f"Stopped after step {run.step}; everything is saved. Go on with: {visible(again)}")
    else:
        print(f"{run.step} steps, dev loss {run.dev.loss:.4f}, exactly right {run.dev.exact:.1%}")
        print(f"The model is in {visible(str(out / MODEL))}. Try it:")
        print(f'  stepformer translate --model {visible(str(out / MODEL))} "Tom chases Jerry."')
    return 130 if stopped else 0


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)
