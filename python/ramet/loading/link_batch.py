"""LinkBatch: a Batch whose seeds are the ends of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ramet._support.tensors import num_rows, to_tensor
from ramet.loading.batch import Batch
from ramet.loading.block import Ends
from ramet.loading.links import LinkOrigin


class LinkBatch(Batch):
    """The pairs of one step, their negatives, and what was sampled for their ends.

    `seeds` are the distinct ends, each at its first occurrence: sources, destinations, negatives. With disjoint trees
    they are all ends. Local ids are positions in `n_id`, as the rows of a model's result for the seeds are. Where
    `edges` is a dict, values are dicts by edge type.

    Where ranks cooperate, `seeds` are the ends that this rank owns, of all ranks' pairs. Local ids are positions in
    `ends.n_id`, whose rows `ramet.distributed.exchange(rows, batch.ends)` makes of the rows of the seeds.
    """

    ends = property(lambda self: Ends(self), doc="The distinct ends of this rank's pairs and negatives, as Ends.")

    @property
    def edge_label_index(self):
        """int64 [2, pairs + negatives], local ids: sources above destinations, the negatives after all pairs, pair by
        pair. With triplets the pairs alone."""
        return self._of_kinds(lambda k, pairs: self._index(k)[:, : pairs if self.is_triplet else None])

    @property
    def edge_label(self):
        """[pairs + negatives, ...]: the label of each pair; 1.0 where the loader has none. Negatives have 0. None
        without labels and negatives, and with triplets."""
        return self._of_kinds(self._labels_of)

    @property
    def edge_label_time(self):
        """int64 [pairs + negatives]: the time of each pair; of a negative that of its pair. None without a `time`."""
        return self._of_kinds(self._times_of)

    @property
    def input_id(self):
        """int64 [pairs]: the position of each pair in the loader's `edges`."""
        return self._of_kinds(lambda k, pairs: self._placed(to_tensor(self._ids(k))))

    @property
    def src_index(self):
        """int64 [pairs], local ids: the sources. With triplets alone, as the two below."""
        self._require_triplets("src_index")
        return self._of_kinds(lambda k, pairs: self._index(k)[0, :pairs])

    @property
    def dst_pos_index(self):
        """int64 [pairs], local ids: the destinations."""
        self._require_triplets("dst_pos_index")
        return self._of_kinds(lambda k, pairs: self._index(k)[1, :pairs])

    @property
    def dst_neg_index(self):
        """int64 [pairs], or [pairs, amount] where that is more than 1, local ids: row i has pair i's negatives."""
        self._require_triplets("dst_neg_index")
        amount = int(self._links.negatives.amount)
        shape = (-1,) if amount == 1 else (-1, amount)
        return self._of_kinds(lambda k, pairs: self._index(k)[1, pairs:].reshape(shape))

    @property
    def num_pairs(self) -> int:
        """Pairs of this rank, of all edge types, without negatives."""
        return sum(pairs for pairs, _, _ in self._core.links)

    @property
    def global_num_pairs(self) -> int:
        """Pairs over all ranks."""
        return self._core.global_num_seeds

    @property
    def num_missing(self) -> int:
        """Negatives of this rank that there are none of, with `Negatives(missing="drop")`."""
        negatives = self._links.negatives
        return self.num_pairs * (1 + (0 if negatives is None else int(negatives.amount))) - self._num_columns

    def mean(self, per_pair):
        """As Batch.mean, from a tensor with one row per pair, or one per pair and negative."""
        negatives, count = self._links.negatives, self.global_num_pairs
        columns = self._num_columns
        if (rows := num_rows(per_pair, "per_pair")) not in (self.num_pairs, columns):
            raise ValueError(f"per_pair has {rows} rows, expected {self.num_pairs} pairs, or {columns} with negatives")
        if rows == columns and negatives is not None:  # of a rank without negatives, too
            count += math.ceil(count * negatives.amount)
        return per_pair.sum() * (self.origin.world / max(count, 1))

    def __repr__(self) -> str:
        return super().__repr__().replace(f"seeds={self.num_seeds}", f"pairs={self.num_pairs} seeds={self.num_seeds}")

    @property
    def _links(self) -> LinkOrigin:
        return self.origin.links

    @property
    def is_triplet(self) -> bool:
        """Whether negatives are rows of triplets."""
        return self._links.negatives is not None and self._links.negatives.mode == "triplet"

    def _require_triplets(self, word: str) -> None:
        if not self.is_triplet:
            raise AttributeError(f"batch.{word} is of negatives of mode='triplet', which the loader does not have")

    def _of_kinds(self, get: Callable):
        """get(number of the kind, its pairs) of each kind: a dict, or the only value."""
        values = [get(k, pairs) for k, (pairs, _, _) in enumerate(self._core.links)]
        return dict(zip(self._links.edge_types, values)) if self._links.by_type else values[0]

    @property
    def _num_columns(self) -> int:
        return sum(index.shape[1] for _, index, _ in self._core.links)

    def _index(self, k: int):
        return self._placed(to_tensor(self._core.links[k][1]))

    def _labels_of(self, k: int, pairs: int):
        labels, negatives = self._links.labels[k], self._links.negatives
        if (labels is None and negatives is None) or self.is_triplet:
            return None
        of_pairs = np.ones(pairs, np.float32) if labels is None else labels[self._ids(k)]
        zeros = np.zeros((len(self._core.links[k][2]), *of_pairs.shape[1:]), of_pairs.dtype)
        return self._placed(to_tensor(np.concatenate([of_pairs, zeros])))

    def _times_of(self, k: int, pairs: int):
        times = self._links.times[k]
        if times is None:
            return None
        of_pairs = times[self._ids(k)]
        if self.is_triplet:
            return self._placed(to_tensor(of_pairs))
        return self._placed(to_tensor(np.concatenate([of_pairs, of_pairs[self._core.links[k][2]]])))

    def _ids(self, k: int) -> np.ndarray:
        counts = [pairs for pairs, _, _ in self._core.links]
        begin = sum(counts[:k])
        return self._core.input_id[begin : begin + counts[k]]
