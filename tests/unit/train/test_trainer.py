"""The training loop: the numbers are right, they are the same every time, and a stopped training loses nothing."""

import functools
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import torch
from helpers import fault
from small_training import GRU, config, config_of, data

from stepformer import params
from stepformer.checkpoint import CheckpointError, load_model
from stepformer.data.batches import Batches
from stepformer.data.tokenizer import BOS, EOS, PAD
from stepformer.model_kinds import build
from stepformer.nn import cross_entropy
from stepformer.train import ConfigError, Dev, TrainingData, TrainingError, inverse_sqrt, read_log, train, trainer
from stepformer.train.config import model_arguments
from stepformer.train.measure import tensors

pytestmark = pytest.mark.slow  # it trains


def steps_of(rows):
    return [{k: v for k, v in row.items() if k != "cpu_seconds"} for row in rows]


@functools.cache
def uninterrupted():
    """The rows of the training that most tests stop and resume."""
    return steps_of(train(config(), data()).rows)


def stop_after(step):
    """Ask the training to stop, as Ctrl-C does."""
    return lambda now, model: os.kill(os.getpid(), signal.SIGINT) if now == step else None


def same_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


# ---- the numbers ----


def test_the_first_loss_is_the_smoothed_mean_over_the_tokens_of_the_first_batch():
    settings = config(regularisation__dropout=0.0)
    run = train(settings.with_settings({"budget.steps": 2}), data())
    batch = tensors(next(Batches(data().train, batch_size=16, seed=0).epoch()))
    model = build("transformer", model_arguments(settings, 9, 9), seed=0)
    log_p = model(batch.src, batch.tgt_in).log_softmax(-1).detach()
    right = log_p.gather(-1, batch.tgt_out[..., None])[..., 0]
    each = -(0.9 * right + 0.1 * log_p.mean(-1))
    real = batch.tgt_out != PAD
    assert run.rows[0]["loss"] == pytest.approx(float(each[real].mean()), rel=1e-6)
    assert run.rows[0]["tokens"] == int(real.sum())


def test_dropout_is_at_work_in_training_and_off_in_measuring():
    rows = [train(config(regularisation__dropout=d, budget__steps=2), data()).rows for d in (0.0, 0.5)]
    assert rows[0][0]["loss"] != rows[1][0]["loss"]
    run = train(config(regularisation__dropout=0.5), data())
    assert not run.model.training
    assert Dev(run.data.dev).measure(run.model) == run.dev == Dev(run.data.dev).measure(run.model)


@fault("TR-03")
@pytest.mark.parametrize("kind", ["inverse_sqrt", "constant"])
def test_the_optimiser_takes_the_rate_of_the_schedule_and_nothing_else(kind):
    """Adam's first step moves each parameter by the learning rate, whatever the size of its gradient."""
    tables = {"schedule": {"kind": kind, "warmup": 4}, "optimiser": {"lr": 0.004, "clip": 1.0}}
    if kind == "inverse_sqrt":
        tables["optimiser"] = {"lr": 0.5}  # replaced by the paper's below
    settings = config_of(tables | {"budget": {"steps": 1}})
    if kind == "inverse_sqrt":
        settings = settings.with_settings({"optimiser.lr": None})
    run = train(settings, data())
    rate = inverse_sqrt(1, 8, 4) if kind == "inverse_sqrt" else 0.001
    assert run.rows[0]["lr"] == rate
    before = build("transformer", model_arguments(settings, 9, 9), seed=0)
    moved = [(a - b).abs().max().item() for a, b in zip(run.model.parameters(), before.parameters(), strict=True)]
    assert max(moved) == pytest.approx(rate, rel=1e-3)


def test_gradients_are_clipped_to_the_norm(monkeypatch):
    norms = []
    step = torch.optim.Adam.step

    def look(self, *rest):
        norms.append(torch.cat([p.grad.flatten() for p in self.param_groups[0]["params"]]).norm().item())
        return step(self, *rest)

    monkeypatch.setattr(torch.optim.Adam, "step", look)
    rows = train(config(optimiser__clip=0.05, budget__steps=3), data()).rows
    assert all(norm == pytest.approx(0.05, rel=1e-3) for norm in norms)
    assert all(row["norm"] > 0.05 for row in rows if "norm" in row)


def test_the_model_is_the_average_of_the_last_snapshots():
    seen = {}
    run = train(config(budget__steps=11), data(), on_step=lambda step, model: seen.update(
        {step: [p.detach().clone() for p in model.parameters()]}))  # fmt: skip
    for parameter, six, nine in zip(run.model.parameters(), seen[6], seen[9], strict=True):
        torch.testing.assert_close(parameter, (six + nine) / 2)
    assert sorted(seen) == list(range(1, 12))


def test_training_learns_and_exact_match_is_that_of_greedy_decoding():
    learning = config(budget__steps=120, budget__dev_every=120, regularisation__dropout=0.0, model__d_model=16)
    run = train(learning, data())
    assert run.rows[-2]["loss"] < 0.7 * run.rows[0]["loss"]
    loss = tokens = right = 0
    for source, target in run.data.dev:
        with torch.no_grad():
            encoded = run.model.encode(torch.tensor([[*source, EOS]]))
            words = [BOS]
            while len(words) < 9 and words[-1] != EOS:
                output = run.model.decode(torch.tensor([words]), *encoded).output
                words.append(int(run.model.project(output)[0, -1].argmax()))
            logits = run.model(torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]]))
        right += words == [BOS, *target, EOS]
        loss += float(cross_entropy(logits, torch.tensor([[*target, EOS]]), PAD)) * (len(target) + 1)
        tokens += len(target) + 1
    assert 0 < right < len(run.data.dev)  # else the comparison would show little
    assert run.dev.exact == right / len(run.data.dev)
    assert run.dev.loss == pytest.approx(loss / tokens, rel=1e-5)


def test_training_stops_early_and_the_best_weights_become_the_model():
    # A rate far too high: dev gets worse again.
    settings = config(optimiser__lr=0.5, schedule__kind="constant", budget__steps=200, budget__dev_every=2,
                      budget__patience=3, budget__final="best", regularisation__average=1)  # fmt: skip
    run = train(settings, data())
    losses = [row["dev_loss"] for row in run.rows if "dev_loss" in row]
    assert run.stopped == "early"
    assert losses.index(min(losses)) == len(losses) - 4
    assert run.step == 2 * len(losses)
    assert run.dev.loss == min(losses) < losses[-1]


def test_a_loss_that_is_no_number_stops_the_training_before_it_is_in_the_weights(tmp_path):
    settings = config(optimiser__lr=1e30, optimiser__clip=None, schedule__kind="constant", schedule__warmup=0)
    with pytest.raises(TrainingError, match=r"step \d+: the loss is (nan|inf).*optimiser\.lr"):
        train(settings.with_settings({"budget.checkpoint_every": 1}), data(), tmp_path / "run")
    path = max((tmp_path / "run" / "checkpoints").iterdir())
    assert all(p.isfinite().all() for p in load_model(path).model.parameters())


# ---- the same every time ----


def test_the_seed_decides_everything_and_torch_s_random_numbers_are_left_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    drawn = []
    one = train(config(), data(), on_step=lambda step, model: drawn.append(torch.get_rng_state()))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(before, state) for state in drawn)
    torch.manual_seed(6)
    two = train(config(), data(), on_step=lambda step, model: torch.rand(3))
    other = train(config(seed=1), data())
    assert steps_of(one.rows) == steps_of(two.rows)
    assert same_weights(one.model, two.model)
    assert one.rows[0]["loss"] != other.rows[0]["loss"]


def test_dropout_differs_from_step_to_step_and_from_seed_to_seed(monkeypatch):
    draws = []
    for name in ("stepformer.nn._layers.drop", "stepformer.nn.attention.drop"):
        monkeypatch.setattr(name, lambda x, share: draws.append(float(torch.rand(()))) or x)
    for seed in (0, 1):
        train(config(budget__steps=4, seed=seed), data())
    assert len(draws) > 80
    assert len(set(draws)) == len(draws)


# ---- stopped and resumed ----

VARIANTS = {
    "transformer": config(),
    "gru": config_of(GRU),
    "gru with attention": config_of({"model": {"kind": "gru_attention", "d_embedding": 6, "d_hidden": 8}}),
    "tokens per batch": config(data__batch_size=None, data__tokens_per_batch=60),
    "no clipping, no averaging": config(optimiser__clip=None, regularisation__average=1),
    "paper's schedule": config(schedule__kind="inverse_sqrt"),
    "early": config(optimiser__lr=0.5, schedule__kind="constant", budget__steps=60, budget__dev_every=2,
                    budget__patience=3, budget__final="best", budget__checkpoint_every=3),
}  # fmt: skip


@fault("TR-05")
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(s, id=name, marks=[] if name in ("transformer", "gru") else pytest.mark.slow)
        for name, s in VARIANTS.items()
    ],
)
def test_a_training_that_is_resumed_is_bit_for_bit_the_one_that_never_stopped(settings, tmp_path):
    whole = train(settings, data(), tmp_path / "whole")
    part = train(settings, data(), tmp_path / "part", on_step=stop_after(5))
    assert (part.stopped, part.step) == ("interrupted", 5)
    assert not (tmp_path / "part" / "model").exists()
    again = train(settings, data(), tmp_path / "part", resume=True, on_step=stop_after(7))
    assert (again.stopped, again.step) == ("interrupted", 7)
    resumed = train(settings, data(), tmp_path / "part", resume=True)
    assert steps_of(resumed.rows) == steps_of(whole.rows) == steps_of(read_log(tmp_path / "part" / "log.jsonl"))
    assert same_weights(resumed.model, whole.model)
    assert (resumed.stopped, resumed.step, resumed.dev) == (whole.stopped, whole.step, whole.dev)
    newest = f"checkpoints/step-{whole.step:08d}/training.safetensors"
    assert (tmp_path / "whole" / newest).read_bytes() == (tmp_path / "part" / newest).read_bytes()


@fault("TR-07")
def test_a_resumed_epoch_goes_on_in_its_own_order_and_the_next_has_another(tmp_path):
    settings = config(budget__steps=14)  # 100 pairs in batches of 16: 7 steps an epoch
    whole = train(settings, data()).rows
    train(settings, data(), tmp_path / "run", on_step=stop_after(7))
    resumed = train(settings, data(), tmp_path / "run", resume=True).rows
    assert steps_of(resumed) == steps_of(whole)
    epochs = [[row["tokens"] for row in whole if row.get("epoch") == epoch] for epoch in (0, 1)]
    assert len(epochs[0]) == len(epochs[1]) == 7
    assert sum(epochs[0]) == sum(epochs[1])
    assert epochs[0] != epochs[1]


def test_a_finished_training_that_is_resumed_stays_what_it_is(tmp_path):
    run = train(config(), data(), tmp_path / "run")
    files = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    again = train(config(), data(), tmp_path / "run", resume=True)
    assert same_weights(run.model, again.model)
    assert {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()} == files


def test_what_only_says_how_often_checkpoints_are_written_may_change(tmp_path):
    train(config(), data(), tmp_path / "run", on_step=stop_after(5))
    run = train(config(budget__checkpoint_every=1, budget__keep=9), data(), tmp_path / "run", resume=True)
    assert steps_of(run.rows) == uninterrupted()
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 9


def test_more_steps_may_be_asked_for_where_the_schedule_does_not_depend_on_the_last(tmp_path):
    paper = {"schedule__kind": "constant", "regularisation__average": 1}
    train(config(**paper), data(), tmp_path / "run")
    longer = config(**paper, budget__steps=14)
    resumed = train(longer, data(), tmp_path / "run", resume=True)
    losses = [[row["loss"] for row in rows if "loss" in row] for rows in (resumed.rows, train(longer, data()).rows)]
    assert losses[0] == losses[1]
    train(config(), data(), tmp_path / "linear")
    with pytest.raises(ConfigError, match=r"budget\.steps was 12 and is 14"):
        train(config(budget__steps=14), data(), tmp_path / "linear", resume=True)


def test_another_configuration_or_other_data_are_refused(tmp_path):
    train(config(), data(), tmp_path / "run", on_step=stop_after(5))
    with pytest.raises(ConfigError, match=r"optimiser\.lr was 0\.01 and is 0\.02, seed was 0 and is 3"):
        train(config(optimiser__lr=0.02, seed=3), data(), tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match="other data"):
        train(config(), data(n_train=99), tmp_path / "run", resume=True)


def test_a_second_interrupt_ends_at_once_and_the_handlers_come_back(tmp_path):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def twice(step, model):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(config(), data(), tmp_path / "run", on_step=twice)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    run = train(config(), data(), tmp_path / "run", resume=True)  # no checkpoint yet: it begins
    assert steps_of(run.rows) == uninterrupted()


def test_a_training_in_another_thread_leaves_the_signals_alone():
    runs = []
    thread = threading.Thread(target=lambda: runs.append(train(config(budget__steps=2), data())))
    thread.start()
    thread.join()
    assert runs[0].step == 2


# ---- directories ----


def test_a_checkpoint_is_a_model_that_can_translate(tmp_path):
    run = train(config(regularisation__average=1), data(), tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints" / "step-00000012", tmp_path / "run" / "model"):
        loaded = load_model(path)
        assert same_weights(loaded.model, run.model)
        assert loaded.src_tokenizer.vocabulary == run.data.src_tokenizer.vocabulary
        assert loaded.record["title"] == "reversing"
    assert loaded.record["data"] == "words"
    assert loaded.record["dev_exact"] == run.dev.exact
    names = ["model.json", "state.json", "training.safetensors", "weights.safetensors"]
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints" / "step-00000012").iterdir()) == names
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == ["checkpoints", "config.toml", "log.jsonl", "model"]
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["step-00000008", "step-00000012"]


def test_a_directory_that_holds_something_is_refused(tmp_path):
    train(config(budget__steps=1, schedule__warmup=0), data(), tmp_path / "run")
    with pytest.raises(CheckpointError, match="holds a training already: resume=True"):
        train(config(), data(), tmp_path / "run")
    with pytest.raises(CheckpointError, match="something else"):
        train(config(), data(), tmp_path)
    with pytest.raises(CheckpointError, match="no training that could go on"):
        train(config(), data(), tmp_path / "none", resume=True)
    with pytest.raises(ValueError, match="resume needs the directory"):
        train(config(), data(), resume=True)


def test_a_refused_training_leaves_nothing_behind(tmp_path, monkeypatch):
    empty = tmp_path / "empty"
    empty.mkdir()
    for directory in (tmp_path / "new", empty):
        with pytest.raises(ConfigError, match="can not be split"):
            train(config(model__n_heads=3), data(), directory)
        assert not (directory.exists() and list(directory.iterdir()))
        train(config(), data(), directory, on_step=stop_after(5))
    assert not list(tmp_path.glob("*/model"))
    before = sorted(directory.rglob("*"))

    def no_memory(*_arguments):
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "build", no_memory)
        with pytest.raises(ConfigError, match="no memory"):
            train(config(), data(), directory, resume=True)
    assert sorted(directory.rglob("*")) == before
    assert train(config(), data(), directory, resume=True).stopped == "budget"


def test_two_processes_do_not_train_in_one_directory(tmp_path):
    pytest.importorskip("fcntl")
    train(config(), data(), tmp_path / "run", on_step=stop_after(5))
    log = str(tmp_path / "run" / "log.jsonl")
    code = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    other = subprocess.Popen([sys.executable, "-S", "-c", code, log], stdin=-1, stdout=-1)
    try:
        other.stdout.readline()
        with pytest.raises(CheckpointError, match="another process trains there"):
            train(config(), data(), tmp_path / "run", resume=True)
    finally:
        other.kill()
        other.communicate()
    assert train(config(), data(), tmp_path / "run", resume=True).step == 12


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory):
    directory = tmp_path_factory.mktemp("stopped") / "run"
    train(config(), data(), directory, on_step=stop_after(10))
    return directory


@pytest.fixture
def stopped(stopped_once, tmp_path):
    """A training that was stopped after step 10, with checkpoints of steps 8 and 10."""
    return shutil.copytree(stopped_once, tmp_path / "run")


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def edit(checkpoint, **changes):
    path = checkpoint / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: cut(p / "training.safetensors"), r"training\.safetensors is damaged, cut off"),
        (lambda p: flip(p / "training.safetensors"), r"training\.safetensors is damaged"),
        (lambda p: flip(p / "weights.safetensors"), r"weights\.safetensors is damaged"),
        (lambda p: cut(p / "state.json"), r"state\.json is damaged"),
        (lambda p: (p / "state.json").unlink(), r"state\.json can not be read"),
        (lambda p: (p / "training.safetensors").unlink(), r"training\.safetensors can not be read"),
        (lambda p: (p / "model.json").write_text("{}"), r"model\.json was written by something else"),
        (lambda p: (p / "state.json").write_text('{"format": "stepformer.checkpoint/2"}'), "version 2; this version"),
        (lambda p: (p / "state.json").write_text('{"format": "stepformer.checkpoint/1"}'), "step is missing"),
        (lambda p: p.rename(p.with_name("step-00000011")), "step is 10; the folder is of another step"),
        (lambda p: edit(p, epoch=-1), r"state\.json: epoch is -1; it must be 0 or more"),
        (lambda p: edit(p, batch=-3), r"state\.json: batch is -3; it must be 0 or more"),
        (lambda p: edit(p, log_length=-1), r"state\.json: log_length is -1; it must be 0 or more"),
        (lambda p: edit(p, config={"seed": 0}), r"not of this training: .*tokens_per_batch\.(?= The)"),
    ],
)
def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_offered_and_used(stopped, damage, message):
    damage(stopped / "checkpoints" / "step-00000010")
    with pytest.raises(
        CheckpointError, match=rf"{message}.*The checkpoint of step 8 is whole: resume=8 \(--resume 8\)"
    ):
        train(config(), data(), stopped, resume=True)
    run = train(config(), data(), stopped, resume=8)
    assert steps_of(run.rows) == uninterrupted()
    assert steps_of(read_log(stopped / "log.jsonl")) == steps_of(run.rows)


def test_a_checkpoint_whose_arrays_are_of_another_type_is_refused(stopped):
    path = stopped / "checkpoints" / "step-00000010"
    arrays = params.load(path / "training.safetensors")[0]
    name = next(name for name in arrays if name.startswith("exp_avg/"))
    params.save(path / "training.safetensors", arrays | {name: arrays[name].astype("float64")})
    edit(path, training_sha256=hashlib.sha256((path / "training.safetensors").read_bytes()).hexdigest())
    with pytest.raises(CheckpointError, match=f"{name} is float64; it must be float32"):
        train(config(), data(), stopped, resume=True)


def test_a_log_that_is_said_to_be_longer_than_any_file_is_refused(stopped):
    edit(stopped / "checkpoints" / "step-00000010", log_length=10**30)
    with pytest.raises(CheckpointError, match="rows are lost"):
        train(config(), data(), stopped, resume=True)


def test_a_folder_that_is_only_named_like_a_checkpoint_is_left_alone(stopped):
    """`step-000000007` has a digit too many: no checkpoint of ours is called so."""
    other = stopped / "checkpoints" / "step-000000007"
    other.mkdir()
    assert steps_of(train(config(), data(), stopped, resume=True).rows) == uninterrupted()
    assert other.is_dir()


def test_where_no_checkpoint_is_whole_it_says_so(stopped):
    for path in (stopped / "checkpoints").iterdir():
        cut(path / "training.safetensors")
    with pytest.raises(CheckpointError, match="No other checkpoint can be used"):
        train(config(), data(), stopped, resume=True)
    with pytest.raises(CheckpointError, match="has no checkpoint of step 3; there are: 8, 10"):
        train(config(), data(), stopped, resume=3)


@pytest.mark.parametrize(
    ("other", "n_train", "reason"),
    [
        ({"seed": 3}, 100, "seed was 3 and is 0"),
        ({"optimiser__lr": 0.02, "title": "other"}, 100, r"optimiser\.lr was 0\.02 and is 0\.01\."),
        ({"model__d_ff": 14}, 100, r"model\.d_ff was 14 and is 12"),
        ({}, 99, "it was written while training on other data"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_whole_as_it_is_and_the_one_before_it_offered(
    stopped, tmp_path, other, n_train, reason
):
    """However well everything fits: it is in the place of ours, or newer, or its log came with it."""
    train(config(**other), data(n_train=n_train), tmp_path / "other", on_step=stop_after(10))
    ours, foreign = (path / "checkpoints" / "step-00000010" for path in (stopped, tmp_path / "other"))
    shutil.rmtree(ours)
    shutil.copytree(foreign, ours)
    whole = {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()}
    message = rf"step-00000010 is not of this training: {reason}.*The checkpoint of step 8 is whole: resume=8"
    with pytest.raises(CheckpointError, match=message):
        train(config(), data(), stopped, resume=True)
    assert {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()} == whole
    run = train(config(), data(), stopped, resume=8)
    assert steps_of(run.rows) == uninterrupted()


def test_a_foreign_checkpoint_that_is_asked_for_costs_none_of_ours(stopped, tmp_path):
    train(config(seed=3), data(), tmp_path / "other", on_step=stop_after(5))
    shutil.copytree(tmp_path / "other" / "checkpoints" / "step-00000005", stopped / "checkpoints" / "step-00000005")
    with pytest.raises(CheckpointError, match=r"seed was 3 and is 0\..*The checkpoint of step 10 is whole"):
        train(config(), data(), stopped, resume=5)
    (stopped / "log.jsonl").write_bytes(b"")
    with pytest.raises(CheckpointError, match="rows are lost"):
        train(config(), data(), stopped, resume=8)
    assert [path.name[-2:] for path in sorted((stopped / "checkpoints").iterdir())] == ["05", "08", "10"]


def test_weights_of_another_shape_are_refused_by_name(stopped, tmp_path):
    train(config(model__d_ff=14), data(), tmp_path / "other", on_step=stop_after(10))
    foreign = tmp_path / "other" / "checkpoints" / "step-00000010"
    ours = stopped / "checkpoints" / "step-00000010"
    configuration = json.loads((ours / "state.json").read_text())["config"]
    shutil.rmtree(ours)
    shutil.copytree(foreign, ours)
    state = json.loads((ours / "state.json").read_text()) | {"config": configuration}  # it says that it is ours
    (ours / "state.json").write_text(json.dumps(state))
    (stopped / "log.jsonl").write_bytes((tmp_path / "other" / "log.jsonl").read_bytes())
    with pytest.raises(CheckpointError, match=r"w_1\.weight has shape \(14, 8\); the model needs \(12, 8\)"):
        train(config(), data(), stopped, resume=True)


def test_rows_after_the_checkpoint_are_cut_off_the_log_and_no_step_appears_twice(stopped):
    with (stopped / "log.jsonl").open("ab") as file:
        file.write(b'{"step": 11, "loss": 0.0}\n{"step": 12, "lo')  # as left behind by a process that was killed
    assert [row["step"] for row in read_log(stopped / "log.jsonl")][-1] == 11
    train(config(), data(), stopped, resume=True)
    steps = [row["step"] for row in read_log(stopped / "log.jsonl") if "loss" in row]
    assert steps == list(range(1, 13))


def test_a_log_that_lost_rows_is_refused(stopped):
    cut(stopped / "log.jsonl")
    with pytest.raises(CheckpointError, match=r"rows are lost"):
        train(config(), data(), stopped, resume=True)


def files(folder):
    """Every file below a folder, with what it holds."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("row", [b"3", b"[]"])
def test_a_log_with_a_line_that_is_no_row_is_refused_before_anything_is_deleted(stopped, row):
    """Rows of the same length, so that only their content is wrong; the checkpoint of step 10 would be deleted."""
    path = stopped / "log.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[2] = row.rjust(len(lines[2]))
    path.write_bytes(b"\n".join(lines))
    whole = files(stopped)
    with pytest.raises(CheckpointError, match=r"log\.jsonl, line 3 is no row of the log of .*not an object"):
        train(config(), data(), stopped, resume=8)
    assert files(stopped) == whole


@pytest.mark.parametrize("other", [{}, {"seed": 3}])
def test_where_the_log_is_missing_a_refusal_leaves_none_behind(stopped, other):
    (stopped / "log.jsonl").unlink()
    whole = files(stopped)
    with pytest.raises((CheckpointError, ConfigError), match=r"log\.jsonl is missing, and the checkpoint|seed was 0"):
        train(config(**other), data(), stopped, resume=True)
    assert files(stopped) == whole


def test_a_training_without_checkpoints_that_can_not_be_built_leaves_no_log_behind(tmp_path):
    too_long = config(model__max_len=2)
    (tmp_path / "config.toml").write_text(too_long.to_toml())
    with pytest.raises(ConfigError, match=r"model\.max_len is 2"):
        train(too_long, data(), tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_half_written_folders_are_cleared_away(stopped):
    for name in (".step-00000012.xyz.part", ".step-00000004.old"):
        (stopped / "checkpoints" / name).mkdir()
        (stopped / "checkpoints" / name / "model.json").write_text("{")
    train(config(), data(), stopped, resume=True)
    assert sorted(p.name for p in (stopped / "checkpoints").iterdir()) == ["step-00000010", "step-00000012"]


def test_another_number_of_threads_is_pointed_out(stopped):
    from stepformer.train import Observer

    texts = []

    class Ear(Observer):
        def told(self, text):
            texts.append(text)

    path = stopped / "checkpoints" / "step-00000010" / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"threads": 99}))
    train(config(), data(), stopped, resume=True, observers=[Ear()])
    assert "began with 99 threads" in texts[0]


def test_empty_data_is_refused():
    whole = data()
    with pytest.raises(ValueError, match="dev is empty"):
        TrainingData(whole.src_tokenizer, whole.tgt_tokenizer, whole.train, [])


def test_a_model_that_does_not_fit_is_refused_by_the_model_s_own_message():
    with pytest.raises(ConfigError, match="d_model = 8 can not be split into n_heads = 3"):
        train(config(model__n_heads=3), data())
