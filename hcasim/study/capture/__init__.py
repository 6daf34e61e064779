"""Captures: the packets of a link of a run, as Wireshark reads them."""
