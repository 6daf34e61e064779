"""What is written for readers: documents, and pages of HTML and Markdown made of them."""
