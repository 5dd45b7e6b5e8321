# What nanobind's generator of stubs leaves out: names that belong to the package `ramet`.
_core.__prefix__:
    __version__: str

    class CorruptStoreError(ValueError): ...
