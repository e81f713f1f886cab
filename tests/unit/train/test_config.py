"""One TOML file says everything, and whatever does not fit is refused by name."""

import dataclasses
import re

import pytest
from small_training import GRU, TABLES, config, config_of

from stepformer.train import Config, ConfigError, preset_names
from stepformer.train.config import differences, model_arguments


def test_the_presets_are_whole_and_named():
    assert {"small", "base", "hsk"} <= set(preset_names())
    for name in preset_names():
        assert Config.preset(name).title == name


@pytest.mark.parametrize("name", preset_names())
def test_a_configuration_written_as_toml_reads_back_the_same(name):
    preset = Config.preset(name)
    assert Config.from_toml(preset.to_toml()) == preset
    assert Config.from_dict(preset.to_dict()) == preset


def test_texts_with_every_kind_of_sign_survive_toml():
    title = 'a "b" \\ \n \t \x7f 汤姆 \u2028'
    assert Config.from_toml(config(title=title).to_toml()).title == title


def test_every_setting_is_explained_in_the_file():
    for section in dataclasses.fields(Config):
        for one in dataclasses.fields(section.type) if dataclasses.is_dataclass(section.type) else [section]:
            assert one.metadata["meaning"], one.name
            # Also what is not set stands there, as a comment.
            if one.name != "arguments" and not dataclasses.is_dataclass(one.type):
                assert re.search(rf"^(# )?{one.name} =", Config.preset("small").to_toml(), re.M), one.name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": {}}, r"optimizer is no setting; did you mean optimiser\? there are title, seed, model"),
        ({"optimiser": {"learning_rate": 1}}, r"optimiser\.learning_rate is no setting; .*there are lr, beta1"),
        ({"optimiser": {"lr": "high"}}, r"optimiser\.lr is 'high'; it must be a number"),
        ({"optimiser": {"lr": True}}, r"optimiser\.lr is True; it must be a number"),
        ({"optimiser": {"lr": -1.0}}, r"optimiser\.lr is -1\.0; it must be above 0"),
        ({"optimiser": {"lr": float("nan")}}, r"optimiser\.lr is nan; it must be above 0"),
        ({"optimiser": 3}, r"optimiser is 3; it must be a section"),
        ({"schedule": {"kind": "cosine"}}, r'schedule\.kind is .cosine.; it must be one of "inverse_sqrt"'),
        ({"schedule": {"warmup": 1.5}}, r"schedule\.warmup is 1\.5; it must be a whole number"),
        ({"schedule": {"warmup": 13}}, r"schedule\.warmup is 13, more than the 12 steps"),
        ({"schedule": {"kind": "inverse_sqrt", "warmup": 0}}, r"schedule\.warmup is 0; with inverse_sqrt"),
        ({"regularisation": {"dropout": 1.0}}, r"regularisation\.dropout is 1\.0; it must be from 0 to below 1"),
        ({"budget": {"steps": 0}}, r"budget\.steps is 0; it must be 1 or more"),
        ({"budget": {"final": "worst"}}, r"budget\.final is 'worst'; it must be one of"),
        ({"data": {"tokens_per_batch": 100}}, "data needs either batch_size or tokens_per_batch"),
        ({"data": {"phenomena": [1]}}, r"data\.phenomena is \[1\]; it must be a list of texts"),
        ({"data": {"lower": 1}}, r"data\.lower is 1; it must be true or false"),
        ({"start": {"lexical": 1.0}}, r"start\.lexical is 1\.0; it must be from 0 to below 1"),
        ({"model": {"kind": "oracle"}}, r'model\.kind is .oracle.; it must be one of "transformer"'),
        ({"model": {"kind": "transformer", "heads": 2}}, r"model\.heads is no setting .*did you mean n_heads"),
        ({"model": {"kind": "transformer", "dropout": 0.2}}, r"dropout is no setting .*it stands under regularisation"),
        ({"model": {"kind": "transformer", "d_model": [1]}}, r"model\.d_model is \[1\]; it must be a number, a text"),
        ({"model": {"kind": "gru"}, "regularisation": {"dropout": 0.0}}, r"model\.d_embedding is missing; a gru needs"),
        ({"model": GRU["model"]}, r"regularisation\.dropout is 0\.1; a gru has none, so it must be 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(settings, message):
    with pytest.raises(ConfigError, match=message):
        config_of(settings)


def test_the_highest_rate_may_be_missing_only_where_the_paper_has_one():
    paper = {"schedule": {"kind": "inverse_sqrt", "warmup": 4}}
    tables = {name: value for name, value in TABLES.items() if name != "optimiser"}
    assert Config.from_dict(tables | paper).optimiser.lr is None
    with pytest.raises(ConfigError, match=r"optimiser\.lr is missing"):
        Config.from_dict(tables)
    with pytest.raises(ConfigError, match=r"optimiser\.lr is missing"):
        Config.from_dict(tables | paper | GRU)


def test_files_that_can_not_be_read_say_why(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml can not be read"):
        Config.from_toml(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[model\n")
    with pytest.raises(ConfigError, match=r"bad\.toml is no TOML"):
        Config.from_toml(str(tmp_path / "bad.toml"))
    with pytest.raises(ConfigError, match=r"preset is 'tiny'; it must be one of .*small"):
        Config.preset("tiny")


def test_single_settings_are_changed_by_their_path():
    changed = config().with_settings(
        {"optimiser.lr": "2e-3", "seed": "7", "data.source": "pairs.tsv", "model.n_heads": 4}
    )
    assert (changed.optimiser.lr, changed.seed, changed.data.source) == (0.002, 7, "pairs.tsv")
    assert changed.model.arguments["n_heads"] == 4
    assert config().with_settings({"optimiser.clip": None}).optimiser.clip is None
    assert differences(config(), changed) == {
        "data.source": ("grammar", "pairs.tsv"), "model.n_heads": (2, 4), "optimiser.lr": (0.01, 0.002), "seed": (0, 7)
    }  # fmt: skip


@pytest.mark.parametrize("path", ["lr", "optimiser", "optimiser.rate", "nothing.lr", "optimiser.lr.more", "title.x"])
def test_a_path_that_leads_nowhere_is_refused(path):
    with pytest.raises(ConfigError, match="is no setting"):
        config().with_settings({path: "1"})


def test_the_model_gets_its_arguments_from_the_sections_that_own_them():
    own = {name: value for name, value in TABLES["model"].items() if name != "kind"}
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 9}
    assert model_arguments(config(), 7, 9) == own | sizes | {"dropout": 0.1}
    arguments = model_arguments(config_of(GRU), 7, 9)
    assert arguments == {"d_embedding": 6, "d_hidden": 8} | sizes
    rnn = config_of(GRU | {"model": GRU["model"] | {"network": "rnn"}})
    assert model_arguments(rnn, 7, 9)["kind"] == "rnn"


def test_toml_that_is_too_deep_and_a_seed_that_is_too_large_are_refused():
    with pytest.raises(ConfigError, match="is no TOML"):
        Config.from_toml("x = " + "[" * 50_000 + "\n")
    with pytest.raises(ConfigError, match="seed is 99999999999999999999; it must be from 0 to"):
        Config.preset("small").with_settings({"seed": 99999999999999999999})
