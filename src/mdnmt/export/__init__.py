"""Export trained models to the formats of other toolkits."""
