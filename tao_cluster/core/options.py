"""Parts by name or as objects, and the options that a part of a user's need not declare."""

import copy


def resolve(value, named, protocol=None):
    """The part that a parameter stands for.

    Parameters
    ----------
    value : str, or an object with the methods of a part
    named : dict of str to object
    protocol : class, optional
        Its options are attributes with a default. An object that does not declare one, and does
        not inherit from the protocol, is wrapped by one that does.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        If the value is a class.
    """
    if isinstance(value, type):
        raise ValueError(f"{value.__name__} is a class; give an object, {value.__name__}().")
    part = named[value] if isinstance(value, str) else value
    defaults = {} if protocol is None else _options(protocol)
    missing = {name: default for name, default in defaults.items() if not hasattr(part, name)}
    return _Completed(part, missing) if missing else part


def name_of(part):
    """The name of a part's class, as sentences give it."""
    return type(part.part if isinstance(part, _Completed) else part).__name__


def _options(protocol):
    """Options of a protocol that have a default."""
    return {
        name: vars(protocol)[name] for name in protocol.__annotations__ if name in vars(protocol)
    }


class _Completed:
    """A part with the options that it does not declare itself."""

    def __init__(self, part, options):
        self.part = part
        vars(self).update(options)

    def __getattr__(self, name):
        return getattr(self.part, name)

    def __copy__(self):
        options = {name: value for name, value in vars(self).items() if name != "part"}
        return _Completed(copy.copy(self.part), options)
