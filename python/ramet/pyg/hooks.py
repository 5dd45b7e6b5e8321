"""Hooks: methods of PyG's and torch's loaders that a subclass may override, or a user may set on a loader.

The engine stands in for these methods. Where one is not the class's own any more, it has to be called.
"""


def inherits(thing, name: str, owner: type) -> bool:
    """Whether `thing.name` is the method that the class `owner` has under this name."""
    return getattr(getattr(thing, name, None), "__func__", None) is getattr(owner, name)
