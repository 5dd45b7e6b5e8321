"""The demo: makes a graph, trains GraphSAGE on it with processes that share it, and takes stock.

    python examples/demo.py [--folder demo] [--processes 2]

The graph has planted communities, power-law degrees and noisy features, so that its edges tell
much more than its features. It stays in the folder; a second run begins with training.
"""

import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from tqdm import tqdm

import ramet
from ramet.commands.main import main as ramet_command
from ramet.train import Config, run

GRAPH = {
    "--nodes": 150_000,
    "--edges": 2_000_000,  # before reverses
    "--communities": 20,
    "--classes": 20,
    "--features": 64,
    "--homophily": 0.5,
    "--signal": 0.15,
    "--train-fraction": 0.3,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("demo"))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()

    store = arguments.folder / "graph"
    if not store.exists():
        arguments.folder.mkdir(parents=True, exist_ok=True)
        print(f"generating a graph in {store}", flush=True)
        options = [str(part) for pair in GRAPH.items() for part in pair]
        if status := ramet_command(["generate", str(store), *options]):
            raise SystemExit(status)

    print(f"training GraphSAGE with {arguments.processes} processes", flush=True)
    config = Config(
        store=str(store),
        out=str(arguments.folder / time.strftime("run-%Y%m%d-%H%M%S")),
        epochs=arguments.epochs,
        processes=arguments.processes,
    )
    memory = Memory(store)
    metrics = run(config, poll=memory.measure)
    if metrics["interrupted"]:
        raise SystemExit(130)
    alone = features_alone(ramet.open(store))
    print_table(store, metrics, alone, memory)


def features_alone(graph, epochs=15):
    """Test accuracy of a two-layer perceptron on the same features and splits."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the layers are small
    x, y = {}, {}
    for name in ("train", "val", "test"):
        nodes = torch.as_tensor(graph.split(name).astype("int64"))
        x[name] = graph.table("feat").gather(nodes)
        y[name] = graph.table("label").gather(nodes).long()
    classes = int(graph.table("label").numpy().max()) + 1
    model = torch.nn.Sequential(
        torch.nn.Linear(x["train"].shape[1], 128),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(128, classes),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

    @torch.no_grad()
    def accuracy(split):
        model.eval()
        return (model(x[split]).argmax(dim=1) == y[split]).float().mean().item()

    best, test = 0.0, 0.0
    for _ in tqdm(range(epochs), desc="features alone", disable=None, leave=False):
        model.train()
        for part in torch.randperm(len(y["train"])).split(1024):
            loss = F.cross_entropy(model(x["train"][part]), y["train"][part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (val := accuracy("val")) > best:
            best, test = val, accuracy("test")
    return test


class Memory:
    """The memory of the trainers when it was largest in sum.

    PSS, the proportional set size, counts a page that n processes share as 1/n in each, so the
    sum over processes counts it once.
    """

    def __init__(self, store):
        self.store = str(store.resolve())
        self.peak = []  # (bytes in all, of that the store's files) of each process
        self.next = 0.0

    def measure(self, pids):
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 1
        try:
            now = [self.of_process(pid) for pid in pids]
        except (FileNotFoundError, ProcessLookupError):
            return  # a trainer has just ended
        if sum(total for total, _ in now) > sum(total for total, _ in self.peak):
            self.peak = now

    def of_process(self, pid):
        total, of_store, path = 0, 0, ""
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            words = line.split(maxsplit=5)
            if not words[0].endswith(":"):  # the head of a mapping
                path = words[5] if len(words) > 5 else ""
            elif words[0] == "Pss:":
                total += int(words[1]) * 1024
                if path.startswith(self.store + "/"):
                    of_store += int(words[1]) * 1024
        return total, of_store


def print_table(store, metrics, alone, memory):
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    attach = ", ".join(f"{1000 * seconds:.2f} ms" for seconds in metrics["attach_seconds"])
    totals = [total for total, _ in memory.peak]
    of_store = [part for _, part in memory.peak]
    rows = [
        ("test accuracy, GraphSAGE", f"{100 * metrics['test_accuracy']:.1f} %"),
        ("test accuracy, features alone", f"{100 * alone:.1f} %"),
        ("training", f"{metrics['batches_per_second']:.1f} batches/s"),
        ("store on disk", megabytes(size)),
        ("time to attach, each trainer", attach),
        ("memory of each trainer (PSS)", ", ".join(map(megabytes, totals))),
        ("    of that the store", ", ".join(map(megabytes, of_store))),
        ("memory in sum (PSS)", megabytes(sum(totals))),
        ("    of that the store, once", megabytes(sum(of_store))),
        ("run folder", metrics["folder"]),
    ]
    print()
    for name, value in rows:
        print(f"{name:32} {value}")


def megabytes(count):
    return f"{count / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
