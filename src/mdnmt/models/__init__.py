"""Building blocks of the methods. They import only torch and know nothing about files, config or domain names.

Shape letters, used by every file of this package:
    B sentences, T target or query length, S source or key length, N real target tokens of a batch,
    D model width, H heads, E width of a head, F feed-forward width, K domains, L layers, V vocabulary, W beams.
"""
