"""FBGEMM's embeddings with exact optimizers on the CPU: `fbgemm_embeddings.py ROWS WIDTH DISTINCT`.
Backward applies the gradients. See trained_rows.py."""

import torch
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    OptimType,
    SplitTableBatchedEmbeddingBagsCodegen,
)
from trained_rows import DISTINCT, ROWS, WIDTH, serve_methods

METHODS = {"AdaGrad": OptimType.EXACT_ADAGRAD, "AdaGrad, rowwise": OptimType.EXACT_ROWWISE_ADAGRAD}
OFFSETS = torch.arange(DISTINCT + 1)  # bags of one id


def make(method: str):
    table = (ROWS, WIDTH, EmbeddingLocation.HOST, ComputeDevice.CPU)
    options = {"learning_rate": 0.01, "pooling_mode": PoolingMode.SUM}
    return SplitTableBatchedEmbeddingBagsCodegen([table], optimizer=METHODS[method], **options)


if __name__ == "__main__":
    serve_methods(
        make,
        lambda tables, ids, gradients: tables(ids, OFFSETS).backward(gradients),
        lambda tables, ids: tables.split_embedding_weights()[0][ids],
    )
