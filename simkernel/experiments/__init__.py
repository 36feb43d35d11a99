"""Experiments: a function of a machine, run over a grid of seeds and parameters.

    def experiment(machine, *, loss):              # returns numbers by name
        machine.netem("lo", loss=loss)
        ...
        return {"seconds": ..., "retransmissions": ...}

    result = simkernel.sweep(experiment, {"loss": [0, 0.01, 0.1]}, seeds=range(20), jobs=2)
    print(result.summary("loss"))                  # means with 95 % confidence intervals
    result.write("loss.parquet")

Each point runs in a machine of its own, booted with the parameters that `simkernel.boot` knows; the others are the function's.
grid.py makes the points, points.py runs one, results.py has tables and statistics.
"""

from simkernel.experiments.points import SweepError
from simkernel.experiments.results import Sweep
from simkernel.experiments.run import sweep, sweep_file

__all__ = ["Sweep", "SweepError", "sweep", "sweep_file"]
