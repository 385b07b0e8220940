"""Two models side by side: both continue one opening at once, each with its table and meter."""
