#!/usr/bin/env bash
# Makes the peers' environments under build/peers, which the benchmarks find there: install.sh [pyg] [dgl] [fbgemm]
# DGL's wheels need an old torch. PYTHON chooses the interpreter, which must be one that
# DGL 2.1.0 has wheels for (up to 3.11), TORCH_INDEX the index of torch's CPU builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly HOME_OF_PEERS=build/peers
readonly TORCH_INDEX=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

install() { # into the environment of the first argument
  local environment=$1
  shift
  "$HOME_OF_PEERS/$environment/bin/pip" install -q --disable-pip-version-check "$@"
}

make_environment() {
  local python=${PYTHON:-$(command -v python3.11 || command -v python3)}
  [[ -x $HOME_OF_PEERS/$1/bin/pip ]] || "$python" -m venv "$HOME_OF_PEERS/$1"
}

# PyG's compiled sampler comes from torch-sparse, which is built from source: 10 to 15 minutes on 2 cores.
make_pyg() {
  install pyg torch==2.13.0 --extra-index-url "$TORCH_INDEX"
  install pyg torch-geometric==2.8.1 setuptools wheel ninja numpy psutil pandas
  install pyg --no-build-isolation torch-sparse==0.6.18 torch-scatter==2.1.2
}

# The newest torch that DGL 2.1.0 has GraphBolt libraries for.
make_dgl() {
  install dgl torch==2.2.1 --extra-index-url "$TORCH_INDEX"
  install dgl dgl==2.1.0 torchdata==0.7.1 'numpy<2' psutil pandas pydantic pyyaml
}

make_fbgemm() {
  install fbgemm torch==2.13.0 --extra-index-url "$TORCH_INDEX"
  install fbgemm fbgemm-gpu-cpu==1.8.0 numpy psutil
}

if (($# == 0)); then set -- pyg dgl fbgemm; fi
for name; do
  echo "peers: making $HOME_OF_PEERS/$name"
  make_environment "$name"
  "make_$name"
done
