"""Nodes and a fabric, built from a resolved machine description."""

from hcasim.cluster.cluster import PAGE, Cluster, Node

__all__ = ["PAGE", "Cluster", "Node"]
