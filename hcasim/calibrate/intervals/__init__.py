"""What the observations tell of each parameter: intervals, verdicts, and values as likely."""
