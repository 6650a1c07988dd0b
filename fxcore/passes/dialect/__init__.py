"""Passes for graphs in a particular dialect: with operators of one set only."""
