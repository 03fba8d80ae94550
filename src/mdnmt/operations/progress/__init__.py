"""Progress of a study while Snakemake makes it, and why a job failed."""
