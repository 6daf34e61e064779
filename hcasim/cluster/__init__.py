"""Nodes and a fabric, built from a resolved machine description."""

from hcasim.cluster.cluster import Cluster, Node

__all__ = ["Cluster", "Node"]
