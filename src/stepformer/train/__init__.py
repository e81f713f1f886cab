"""Training: one TOML file says what, on what data and for how long; stopped trainings go on bit for bit.

from stepformer.train import Config, train
run = train(Config.preset("small"), directory="runs/a")
"""

from stepformer.train.config import Config, ConfigError, preset_names
from stepformer.train.dashboard import Dashboard
from stepformer.train.distributed import ALONE, WorkerError, Workers, joined
from stepformer.train.log import read_log
from stepformer.train.measure import Dev, Measured
from stepformer.train.progress import Bar, Observer, bar
from stepformer.train.schedule import constant, inverse_sqrt, linear, schedule_of
from stepformer.train.sources import TrainingData, load_data
from stepformer.train.trainer import Run, TrainingError, train

__all__ = [
    "ALONE",
    "Bar",
    "Config",
    "ConfigError",
    "Dashboard",
    "Dev",
    "Measured",
    "Observer",
    "Run",
    "TrainingData",
    "TrainingError",
    "WorkerError",
    "Workers",
    "bar",
    "constant",
    "inverse_sqrt",
    "joined",
    "linear",
    "load_data",
    "preset_names",
    "read_log",
    "schedule_of",
    "train",
]
