"""From a graph to text: generated source and its line map, comments, tables, and modules on disk.

It may import nodes and fxcore's top modules, since loading a module from disk traces it. Start reading at
`fxcore.codegen`, then `emitter`.
"""
