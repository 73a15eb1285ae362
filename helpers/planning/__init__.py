"""What a suite would cost before anything is trained, whether it runs here, and what stands in its way."""
