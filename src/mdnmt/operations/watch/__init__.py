"""What is going on in a project: its runs, what SLURM says of its jobs, and what Snakemake believes of them."""
