"""What a reader sees in a notebook: tables, figures, highlighted sentences."""
