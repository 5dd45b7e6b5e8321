"""FBGEMM's embeddings with exact optimizers on the CPU: `fbgemm_embeddings.py ROWS WIDTH DISTINCT`. Answers
("train", method, threads): seconds of forward, and of backward, which applies the gradients."""

import sys

import torch
from changes import SOME, changes
from embedding_data import gradients_of
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    OptimType,
    SplitTableBatchedEmbeddingBagsCodegen,
)
from harness import seconds, serve

METHODS = {"AdaGrad": OptimType.EXACT_ADAGRAD, "AdaGrad, rowwise": OptimType.EXACT_ROWWISE_ADAGRAD}


def main() -> None:
    rows, width, distinct = (int(number) for number in sys.argv[1:4])
    ids, gradients = map(torch.from_numpy, gradients_of(rows, width, distinct))
    offsets = torch.arange(distinct + 1)  # bags of one id
    tables = {}

    def train(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in tables:
            tables.clear()
            table = (rows, width, EmbeddingLocation.HOST, ComputeDevice.CPU)
            tables[method] = SplitTableBatchedEmbeddingBagsCodegen(
                [table], optimizer=METHODS[method], learning_rate=0.01, pooling_mode=PoolingMode.SUM
            )
        weights = tables[method].split_embedding_weights
        with changes(lambda: weights()[0][ids[:SOME]], method):
            return seconds(lambda: tables[method](ids, offsets).backward(gradients))

    serve({"train": train})


if __name__ == "__main__":
    main()
