#!/bin/bash
# sbatch slurm.sh: one program on several machines, a copy of the store on each.
# Edit two places: (1) the machines, (2) the program. A task is a machine, so srun pins nothing;
# a program that calls ramet.affinity() gives each of its trainers cores of its own.
#SBATCH --job-name=ramet
# (1) machines, trainers on each, their cores, time
#SBATCH --nodes=2
#SBATCH --gpus-per-node=0
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
set -euo pipefail
TRAINERS=4

# (2) the store on the shared file system, and the program
STORE=$HOME/stores/products
LOCAL=${TMPDIR:-/tmp}/store-$SLURM_JOB_ID
PROGRAM=(node_classification.py "$LOCAL")

# Rows are read at random: a local disk, not the shared one.
trap 'srun rm -rf "$LOCAL"' EXIT
srun cp -r "$STORE" "$LOCAL"
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --cpu-bind=none torchrun --nnodes="$SLURM_NNODES" --nproc-per-node="$TRAINERS" \
  --rdzv-backend=c10d --rdzv-endpoint="$HEAD:29500" --rdzv-id="$SLURM_JOB_ID" "${PROGRAM[@]}"
