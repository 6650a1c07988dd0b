"""Small models of the structure of a large one. Begin reading with `small_twin`."""
