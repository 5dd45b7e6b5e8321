"""Features: the form in which rows and blocks reach a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ramet._support.arguments import as_flag, shortened
from ramet.dtypes import dtype_name

ROUNDED_TO = ("bfloat16",)


@dataclass(frozen=True)
class Features:
    """What a loader does with rows and blocks before the model gets them: `features=` of a NeighborLoader. See
    docs/loader.md and docs/combinations.md.

    decode: float16, bfloat16 and int8 tables arrive as float32.
    dtype: "bfloat16": node tables of floats, but "label", arrive as that, rounded as they are gathered.
    fuse: `batch.x` is a ramet.nn.TableRows: rows of the first block's sources are not gathered, but averaged straight
        from the table, by the threads, or by the device that has them.
    hide: {table: columns}: at the seeds' own rows these columns arrive as zeros, so that a model can learn to fill them
        in: a column, a list of columns, or None for the whole row. A name may also be (node type, table).
    transpose: True: the threads, or the device, transpose the blocks but the first, for backward; "all": each.

    Raises TypeError or ValueError naming the field and the value.
    """

    decode: bool = True
    dtype: str | None = None
    fuse: bool = False
    hide: Mapping | None = None
    transpose: bool | str = False

    def __post_init__(self):
        for name in ("decode", "fuse"):
            object.__setattr__(self, name, as_flag(getattr(self, name), f"features.{name}"))
        if self.transpose != "all":
            if isinstance(self.transpose, str):
                raise ValueError(f"features.transpose is {shortened(self.transpose)}, expected True, False or 'all'")
            object.__setattr__(self, "transpose", as_flag(self.transpose, "features.transpose"))
        if self.dtype is not None:
            self._check_dtype()
        if self.hide is not None and not isinstance(self.hide, Mapping):
            raise TypeError(f"features.hide is {shortened(self.hide)}, expected a dict from tables to columns")

    def _check_dtype(self) -> None:
        name = dtype_name(self.dtype)
        object.__setattr__(self, "dtype", name)
        if name not in ROUNDED_TO:
            raise ValueError(f"features.dtype is {shortened(name)}, expected None or {' or '.join(ROUNDED_TO)}")
        if not self.decode:
            raise ValueError(f"features.dtype is {name!r}, but features.decode=False keeps rows as they are stored")
        if self.fuse:
            raise ValueError(f"features.dtype is {name!r}, but features.fuse=True sums rows in float32, and no others")

    def given(self) -> dict[str, object]:
        """The fields that are not the defaults, as docs/combinations.md names them."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {f"features.{name}": value for name, (value, default) in values.items() if value != default}

    @property
    def transposed(self) -> str:
        """The blocks that are transposed, as the engine names them: "none", "inner" (all but the first) or "all"."""
        return self.transpose if isinstance(self.transpose, str) else "inner" if self.transpose else "none"


def as_features(value) -> Features:
    """A Features; None for the default."""
    if value is None:
        return Features()
    if not isinstance(value, Features):
        raise TypeError(f"features is {shortened(value)}, expected a ramet.Features")
    return value
