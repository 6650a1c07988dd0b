"""Transformations and analyses whose interface torch.fx doesn't promise to keep; the names are those of torch.fx's."""
