"""What a data set holds before any model sees it: the functions behind notebook 01, by kind of data.

Data sets from `helpers.corpora` go in, frames and intervals come out; nothing is drawn or trained here.
"""
