"""Windows of messages: one way, both ways, over one port or two, by one process a node or two.

The method is that of liu2004 sections IV.B.2 and IV.B.3: the sender issues a window of
back-to-back messages, the receiver waits for all of them and sends a small reply. In striping
mode each message longer than a threshold is divided evenly over the ports, and every piece is
followed by a control message on its port, for which the receiver polls its completion queue. In
binding mode messages stay whole and each process and direction has a port of its own.
"""
