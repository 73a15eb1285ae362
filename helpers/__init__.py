"""Nunchi's helpers: one noun per module, imported where used.

Nothing is imported here, so `import helpers` costs nothing and pulls in no torch.
"""
