"""Training in several processes, in parts, and with less memory: the same numbers as in one piece."""

import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import only_in_test_all
from small_training import GRU, TABLES, config, config_of, data

from stepformer.data.batches import Batches, Position
from stepformer.train import Config, ConfigError, TrainingError, Workers, load_data, read_log, train
from stepformer.train.distributed import shares
from stepformer.train.forward import forward_of

pytestmark = pytest.mark.slow  # it trains

PLAIN = {"regularisation__dropout": 0.0}
HERE = Path(__file__).parent


def losses(rows):
    return np.array([row["loss"] for row in rows if "loss" in row])


def furthest(one, other):
    """The largest relative difference of two lists of losses."""
    assert len(one) == len(other) > 0
    return np.abs(one / other - 1).max()


def as_seen_by(rank, size):
    workers = Workers()
    workers.rank, workers.size = rank, size
    return workers


# ---- shares ----


@pytest.mark.parametrize(("size", "parts"), [(1, None), (2, None), (3, None), (2, 4), (1, 5)])
@pytest.mark.parametrize("cut", [{"batch_size": 16}, {"tokens_per_batch": 50}])
def test_the_shares_of_all_processes_are_the_epoch_and_no_pair_is_in_two(size, parts, cut):
    pairs = data(n_train=97).train
    batches = Batches(pairs, seed=4, **cut)
    whole = batches.rows(0)
    seen = []
    for rank in range(size):
        own = list(itertools.islice(shares(batches, Position(), as_seen_by(rank, size), parts), len(whole)))
        assert [share.position for share in own] == [after for after, _ in itertools.islice(batches.walk(), len(whole))]
        for share, rows in zip(own, whole, strict=True):
            assert share.n_tokens == sum(len(pairs[row][1]) + 1 for row in rows)
            chosen = [row for _, part in share.parts for row in part.rows]
            assert set(chosen) <= set(rows)
            assert len(chosen) <= -(-len(rows) // size) + (parts or 0)
            seen += chosen
    assert sorted(seen) == list(range(97))


def test_parts_are_numbered_the_same_in_however_many_processes_they_are():
    batches = Batches(data().train, batch_size=16)

    def parts_of(size):
        sides = [next(shares(batches, Position(), as_seen_by(rank, size), 4)).parts for rank in range(size)]
        return {k: part.rows.tolist() for side in sides for k, part in side}

    assert parts_of(1) == parts_of(2) == parts_of(4)
    assert sorted(parts_of(2)) == [0, 1, 2, 3]


def test_parts_that_can_not_be_dealt_out_evenly_are_refused():
    with pytest.raises(ValueError, match=r"compute\.parts is 3; 2 processes need a multiple of 2"):
        next(shares(Batches(data().train, batch_size=16), Position(), as_seen_by(0, 2), 3))


# ---- one process ----


@pytest.mark.parametrize("parts", [2, 3, 20])
def test_a_batch_in_parts_gives_the_losses_of_the_whole_batch(parts):
    """The mean is over the tokens of the batch, not of the parts: those differ in their numbers of tokens."""
    whole = train(config(**PLAIN), data(n_train=97))
    cut = train(config(**PLAIN, compute__parts=parts), data(n_train=97))
    assert furthest(losses(cut.rows), losses(whole.rows)) < 1e-6
    assert cut.dev.loss == pytest.approx(whole.dev.loss, rel=1e-6)
    assert [row["tokens"] for row in cut.rows if "tokens" in row] == [r["tokens"] for r in whole.rows if "tokens" in r]


def test_each_part_draws_its_own_dropout():
    one, two = (train(config(compute__parts=n, budget__steps=1, schedule__warmup=0), data()) for n in (1, 2))
    assert one.rows[0]["loss"] != two.rows[0]["loss"]
    assert one.rows[0]["loss"] == train(config(budget__steps=1, schedule__warmup=0), data()).rows[0]["loss"]


def test_layers_that_are_computed_twice_give_the_same_numbers_and_keep_less():
    kept = []

    def size(tensor):
        kept[-1] += tensor.numel()
        return tensor

    runs = []
    for recompute in (False, True):
        kept.append(0)
        with torch.autograd.graph.saved_tensors_hooks(size, lambda tensor: tensor):
            runs.append(train(config(compute__recompute=recompute, budget__steps=3), data()))
    assert runs[0].rows[:3] == runs[1].rows[:3]  # dropout included
    assert runs[0].dev == runs[1].dev
    assert kept[1] < 0.6 * kept[0]
    assert not any("forward" in vars(module) for module in runs[1].model.modules())
    gru = config_of(GRU | {"compute": {"recompute": True}})
    with pytest.raises(ConfigError, match=r"compute\.recompute is true; only a transformer has layers"):
        train(gru, data())


ATTENTION = {"kind": "gru_attention", "d_embedding": 6, "d_hidden": 8}


@pytest.mark.parametrize("tables", [{}, GRU, {"model": ATTENTION}], ids=["transformer", "gru", "gru_attention"])
def test_products_in_bfloat16_train_weights_in_float32(tables):
    full = train(config_of(tables), data())
    half = train(config_of(tables | {"compute": {"precision": "bfloat16"}}), data())
    assert {p.dtype for p in half.model.parameters()} == {torch.float32}
    assert 0 < furthest(losses(half.rows), losses(full.rows)) < 0.02
    run = forward_of(half.model, half.config.compute)
    assert run(torch.tensor([[4, 2]]), torch.tensor([[1]])).dtype == torch.float32


@only_in_test_all
@pytest.mark.filterwarnings("ignore")  # torch's compiler uses what torch itself calls old
def test_a_compiled_model_gives_the_same_losses(monkeypatch):
    """With everything of torch.compile but its C++ compiler, which would take minutes for this small model."""
    compiled_with = []

    def without_cpp(model, **options):
        compiled_with.append(options)
        return compile(model, backend="aot_eager", **options)

    compile = torch.compile
    monkeypatch.setattr(torch, "compile", without_cpp)
    two_steps = PLAIN | {"budget__steps": 2, "schedule__warmup": 1}
    plain = train(config(**two_steps), data())
    compiled = train(config(**two_steps, compute__compile=True), data())
    assert compiled_with == [{"dynamic": True}]
    assert furthest(losses(compiled.rows), losses(plain.rows)) < 1e-5
    assert type(compiled.model) is type(plain.model)


def test_a_training_may_go_on_with_other_parts_and_says_so(tmp_path):
    from test_trainer import stop_after

    from stepformer.train import Observer

    texts = []

    class Ear(Observer):
        def told(self, text):
            texts.append(text)

    train(config(**PLAIN), data(), tmp_path / "run", on_step=stop_after(5))
    run = train(config(**PLAIN, compute__parts=2), data(), tmp_path / "run", resume=True, observers=[Ear()])
    assert furthest(losses(run.rows), losses(train(config(**PLAIN), data()).rows)) < 1e-6
    assert texts == ["compute.parts was None and is 2: the last digits will differ, and so may what dropout draws."]
    with pytest.raises(ConfigError, match=r"compute\.precision was 'float32' and is 'bfloat16'"):
        train(config(**PLAIN, compute__precision="bfloat16"), data(), tmp_path / "run", resume=True)


# ---- several processes ----


def start(count, task, torchrun=False):
    """Start the processes of a training; give what each said and how it ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = [str(HERE / "one_worker.py"), json.dumps(task)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    if torchrun:
        launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(count), "--master-port", port]
        commands = [(environment, [sys.executable, *launcher, *script])]
    else:
        of_rank = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count)} for rank in range(count)]
        commands = [(environment | own, [sys.executable, *script]) for own in of_rank]
    processes = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for env, command in commands]
    try:
        said = [process.communicate(timeout=600)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


def results(folder, count):
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(count)]


TWO_PARTS = {"compute__parts": 2, "budget__steps": 16, "budget__checkpoint_every": 100}


def test_two_processes_give_the_losses_of_one_for_200_steps(tmp_path):
    """By the command, under torchrun, with a file of pairs. A model so small does not make much of last digits; for
    larger ones the same parts give the same bits, as the next test asks of every step."""
    whole = data()
    text = "".join("\t".join(whole.src_tokenizer.join(whole.src_tokenizer.words(ids)) for ids in pair) + "\n"
                   for pair in [*whole.train, *whole.dev])  # fmt: skip
    (tmp_path / "pairs.tsv").write_text(text)
    tables = TABLES | {"data": {"batch_size": 16, "source": str(tmp_path / "pairs.tsv"), "n_dev": 20}}
    tables |= {"regularisation": {"dropout": 0.0}, "schedule": {"kind": "constant", "warmup": 9}}
    tables |= {"budget": {"steps": 200, "dev_every": 50}, "optimiser": {"lr": 0.003, "clip": 1.0}}
    settings = Config.from_dict(tables)
    (tmp_path / "config.toml").write_text(settings.to_toml())
    pairs = load_data(settings.data)
    one = train(settings, pairs)
    pairs.train.file.close()
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python",
               sys.executable, "-m", "stepformer.cli", "train", "--config", str(tmp_path / "config.toml"),
               "--out", str(tmp_path / "two"), "--json"]  # fmt: skip
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=one_thread)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 200  # said once
    rows = read_log(tmp_path / "two" / "log.jsonl")
    assert [row["step"] for row in rows if "loss" in row] == list(range(1, 201))
    assert furthest(losses(rows), losses(one.rows)) < 1e-4
    assert losses(rows)[-1] < 0.9 * losses(rows)[0]
    dev = [[row["dev_loss"] for row in x if "dev_loss" in row] for x in (rows, one.rows)]
    assert dev[0] == pytest.approx(dev[1], rel=1e-4)


def test_two_processes_then_one_then_two_are_the_training_that_never_stopped_and_read_every_pair_once(tmp_path):
    task = {"directory": str(tmp_path / "run"), "results": str(tmp_path), "settings": TWO_PARTS}
    read = []
    # The second process alone is asked to stop, and both stop after the same step; 97 pairs are 7 batches an epoch.
    for count, stop in ((2, 3), (1, 6), (2, None)):
        own = {"resume": bool(read), "rank": count - 1, "signals": {} if stop is None else {"SIGTERM": stop}}
        ends = start(count, task | own)
        assert [code for code, _ in ends] == [0] * count, ends
        found = results(tmp_path, count)
        assert {one["step"] for one in found} == {stop or 16}
        assert {one["stopped"] for one in found} == {"budget" if stop is None else "interrupted"}
        assert len({one["dev"] for one in found}) == 1
        read += [row for one in found for part in one["read"] for row in part]
    # Steps 1 to 14 are two epochs; the steps 15 and 16 begin the third. A process reads no batch before its time.
    third = Batches(data(n_train=97).train, batch_size=16, seed=0).rows(2)[:2]
    assert sorted(read) == sorted([*range(97), *range(97), *np.concatenate(third)])
    whole = train(config(**TWO_PARTS), data(n_train=97))
    assert losses(read_log(tmp_path / "run" / "log.jsonl")).tolist() == losses(whole.rows).tolist()


@pytest.mark.parametrize("dies", [1, 0])
def test_a_process_that_is_killed_ends_the_training_with_an_error_and_a_checkpoint_that_goes_on(dies, tmp_path):
    settings = TWO_PARTS | {"budget__checkpoint_every": 4}
    task = {"directory": str(tmp_path / "run"), "results": str(tmp_path), "settings": settings}
    ((code, said),) = start(2, task | {"rank": dies, "signals": {"SIGKILL": 7}}, torchrun=True)
    assert code != 0
    # Of step 7 itself, written when the other one was missed; without the process that writes, the last one before.
    kept = 7 if dies == 1 else 4
    assert f"process {1 - dies} of 2: another process has ended" in said
    assert f"Training can go on from the checkpoint of step {kept}, with any number of processes." in said
    assert not (tmp_path / "run" / "model").exists()
    run = train(config(**settings), data(n_train=97), tmp_path / "run", resume=True)
    whole = train(config(**settings), data(n_train=97))
    assert losses(run.rows).tolist() == losses(whole.rows).tolist()
    assert run.dev == whole.dev


def test_processes_with_other_data_do_not_train_together(tmp_path):
    task = {"directory": str(tmp_path / "run"), "results": str(tmp_path), "settings": TWO_PARTS, "n_train": {"1": 90}}
    (first, _), (second, said) = start(2, task)
    assert (first != 0, second) == (True, 1)
    assert "process 1 of 2: it has other settings or data than the first." in said


def test_a_loss_that_is_no_number_ends_a_training_in_parts_too():
    settings = config(optimiser__lr=1e30, optimiser__clip=None, schedule__kind="constant", schedule__warmup=0,
                      compute__parts=2)  # fmt: skip
    with pytest.raises(TrainingError, match=r"the loss is (nan|inf)"):
        train(settings, data())
