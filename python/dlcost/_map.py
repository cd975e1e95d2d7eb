"""Many models, on whatever runs functions."""

import functools


def map(function, models, *, executor=None, **keywords):  # noqa: A001
    """[function(model, **keywords) for model in models], by an executor where one is given.

    executor: anything with the map() of concurrent.futures: threads (the interpreter's lock is released), processes,
    Dask's or MPI's executors. Results are in the order of the models and can be pickled.
    """
    call = functools.partial(function, **keywords)
    return list((executor.map if executor is not None else _in_turn)(call, models))


def _in_turn(call, models):
    return (call(model) for model in models)
