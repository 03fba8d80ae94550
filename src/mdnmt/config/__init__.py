"""Configuration: frozen models of the YAML files in config/, and their loader."""
