"""What is written for readers: documents, and pages of HTML made of them."""
