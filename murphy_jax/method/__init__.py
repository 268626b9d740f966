"""METHOD.md as code, one file a section: pure arrays in, arrays out; knows JAX and nothing of models or sandboxes."""
