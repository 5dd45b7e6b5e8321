"""These tests need PyG."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch_geometric") else ["*.py"]
