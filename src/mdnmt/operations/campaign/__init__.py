"""Many runs of a study side by side, without Snakemake."""
