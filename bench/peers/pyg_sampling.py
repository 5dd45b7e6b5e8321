"""torch-sparse's neighbor_sample on a store: `pyg_sampling.py STORE [--small]`."""

import samplers
import torch
import torch_sparse  # noqa: F401 (registers the operator)


def main() -> None:
    tensors = samplers.tensors()
    colptr, row = tensors["indptr", "int64"], tensors["indices", "int64"]

    def sample(seeds, fanouts):
        nodes, edges, *_ = torch.ops.torch_sparse.neighbor_sample(colptr, row, seeds, fanouts, False, True)
        return nodes, len(edges)

    train = {"torch-sparse": tensors["train", "int64"]}
    samplers.serve({"torch-sparse": sample}, train, torch.set_num_threads)


if __name__ == "__main__":
    main()
