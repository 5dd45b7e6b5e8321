"""NodeIds: users' ids of nodes, which a store keeps."""

from __future__ import annotations

import json
import operator
from itertools import pairwise

import numpy as np

from ramet import _core
from ramet._support.arguments import shortened
from ramet.arrays import as_array, as_ids, check_range


class NodeIds:
    """Users' ids of the nodes of a type, as `Graph.ids` gives them.

    Ids are integers, texts, or tuples of texts. Where a store keeps none, the id of a node is its position, by which
    all else names it. Look-ups read the store where it is mapped, and load nothing. Safe in threads; pickles as the
    graph does.

    kind: "int64", "uint64", "text" or "tuple".
    """

    def __init__(self, graph, node_type: str):
        self._graph, self._type = graph, node_type
        self._kept = graph._core.ids(node_type)
        self.kind: str = "int64" if self._kept is None else self._kept.kind

    def find(self, ids) -> np.ndarray:
        """int64 [n]: the positions of nodes.

        ids: integers, as a list or an array; or a list or an array of str; or a list of tuples of str; for
            the integers of a tuple int will do.

        Raises KeyError with the first id that no node has and the number of these, TypeError for ids of another kind.
        """
        if isinstance(ids, (str, bytes, int, np.integer)):
            raise TypeError(f"ids is {shortened(ids)}, expected a list or an array of ids")
        ids = ids if hasattr(ids, "tolist") else list(ids)
        positions = self._find_integers(ids) if self.kind in ("int64", "uint64") else self._find_texts(_listed(ids))
        if len(unknown := np.flatnonzero(positions < 0)):
            count, first = f"{len(unknown):,} of {len(ids):,}", shortened(_listed(ids)[unknown[0]])
            raise KeyError(f"no node of type {self._type!r} has {count} ids; the first of these is {first}")
        return positions

    def of(self, positions) -> np.ndarray:
        """The ids of the nodes at `positions`, integers [n]: int64 or uint64 [n], or str or tuple in an object array
        [n]. Raises IndexError for a position that no node has."""
        positions = as_ids(positions, "positions").astype(np.int64)
        check_range(positions, len(self), "positions", f"node type {self._type!r} has {len(self)} nodes")
        if self._kept is None:
            return positions
        found = self._kept.of(positions)
        if self.kind in ("int64", "uint64"):
            return found
        text = found[0].tobytes()
        texts = (text[begin:end].decode() for begin, end in pairwise(found[1].tolist()))
        return np.fromiter(map(self._decode, texts) if self.kind == "tuple" else texts, object, len(positions))

    def __len__(self) -> int:
        return self._graph._core.num_nodes(self._type)

    def __repr__(self) -> str:
        return f"<ids of node type {self._type!r}: {len(self):,} of {'positions' if self._kept is None else self.kind}>"

    def __reduce__(self):
        return NodeIds, (self._graph, self._type)

    def _find_integers(self, ids) -> np.ndarray:
        dtype = np.dtype(self.kind)
        if hasattr(ids, "tolist"):
            given = as_array(ids, "ids")
            if given.dtype.kind not in "iu" or given.ndim != 1:
                raise TypeError(
                    f"ids are {given.dtype}{list(given.shape)}; those of {self._type!r} are {self.kind} [n]"
                )
            values = given.astype(dtype)
            fits = (values.view(np.int64) >= 0) | (given.dtype.kind == dtype.kind)
        else:
            wrong = [one for one in ids if not hasattr(one, "__index__")]
            if wrong:
                raise TypeError(f"ids holds {shortened(wrong[0])}; the ids of {self._type!r} are {self.kind}")
            numbers, bounds = [operator.index(one) for one in ids], np.iinfo(dtype)
            fits = np.array([bounds.min <= number <= bounds.max for number in numbers], np.bool_)
            values = np.array([number if fit else 0 for number, fit in zip(numbers, fits, strict=True)], dtype)
        if self._kept is None:
            return np.where((values >= 0) & (values < len(self)) & fits, values, -1)
        return np.where(fits, self._kept.find(values), -1)

    def _find_texts(self, ids) -> np.ndarray:
        texts = [encoded_tuple(one) for one in ids] if self.kind == "tuple" else ids
        try:
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        except AttributeError:
            wrong = next(text for text in texts if not isinstance(text, str))
            raise TypeError(f"ids holds {shortened(wrong)}; the ids of {self._type!r} are of str") from None
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return self._kept.find((np.frombuffer(b"".join(encoded), np.uint8), offsets))

    def _decode(self, text: str) -> tuple:
        try:
            return tuple(json.loads(text))
        except (ValueError, TypeError) as error:
            location = f"{self._graph.path or 'segment'}: ids/{_core.encode_name(self._type)}/tuple"
            raise _core.CorruptStoreError(f"{location} holds {shortened(text)}: {error}") from None


def _listed(ids) -> list:
    return ids.tolist() if hasattr(ids, "tolist") else ids


def encoded_tuple(values) -> str:
    """A tuple as the store has it: a JSON array of texts, of an integer its digits, without spaces."""
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"ids holds {shortened(values)}, expected tuples")
    texts = [value if isinstance(value, str) else str(operator.index(value)) for value in values]
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
