"""The state of a project: its runs, and its jobs as SLURM and Snakemake see them."""
