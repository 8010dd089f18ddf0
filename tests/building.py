"""Trees of the methods for given centres, where tests need no fit around them, and Ctrl-C."""


def built(method, X, centers, *, sample_weight=None, labels=None, embedding=None, rng=None, **own):
    """The tree of a method with parameters of its own, for rows as they are, however few.

    With an embedding that of a fit, as starts of the search know none.
    """
    if embedding is None:
        return method(**own).build(X, labels, centers, sample_weight, rng)
    model = method(len(centers), reference=centers, **own)
    return model.fit(X, sample_weight=sample_weight, embedding=embedding).tree_


def interrupt_after(monkeypatch, place, n_calls):
    """Raise KeyboardInterrupt at a later call of a function."""
    module, name = place
    function, calls = getattr(module, name), []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > n_calls:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, interrupted)
