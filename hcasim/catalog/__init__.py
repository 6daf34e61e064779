"""The catalogue of hardware and experiments: from ids to frozen, validated descriptions."""

from hcasim.catalog.adapter import Adapter, Cache, DmaDevice
from hcasim.catalog.buses import PcieDevice, PcixDevice
from hcasim.catalog.fits import Fit, FittedValue, load_fit, render_fit
from hcasim.catalog.folders import MODELS, data_path, find_file, list_ids
from hcasim.catalog.host import Host
from hcasim.catalog.link import EthernetLink, InfinibandLink, IwarpProtocol, Link
from hcasim.catalog.loader import find_kind, load
from hcasim.catalog.resolve import resolve
from hcasim.catalog.resolved import Machine, NodeGroup
from hcasim.catalog.section import Parameter, Value
from hcasim.catalog.testbed import Switch, Testbed
from hcasim.catalog.wiring import Way, Wiring
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.reading import read_toml

__all__ = [
    "MODELS",
    "Adapter",
    "Cache",
    "CatalogError",
    "DmaDevice",
    "EthernetLink",
    "Fit",
    "FittedValue",
    "Host",
    "InfinibandLink",
    "IwarpProtocol",
    "Link",
    "Machine",
    "NodeGroup",
    "Parameter",
    "PcieDevice",
    "PcixDevice",
    "Switch",
    "Testbed",
    "Value",
    "Way",
    "Wiring",
    "data_path",
    "find_file",
    "find_kind",
    "list_ids",
    "load",
    "load_fit",
    "nearest",
    "one_of",
    "read_toml",
    "render_fit",
    "resolve",
]
