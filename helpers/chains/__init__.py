"""Gold chains of mentions, and what they say about Real@k: a measure of reference, or of copying?"""
