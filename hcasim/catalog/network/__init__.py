"""How the nodes of a machine are connected: what a file says, the wiring it means, the routes."""
