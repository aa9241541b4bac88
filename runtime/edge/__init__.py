"""The edge's configuration: YAML with places, and what can be wrong in it (docs/edge-yaml.md)."""
