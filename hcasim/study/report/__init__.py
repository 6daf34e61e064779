"""Reports for readers: what a reproduction of papers or a sweep found, and what it rests on."""
