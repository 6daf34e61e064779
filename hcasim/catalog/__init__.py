"""The catalogue of hardware and experiments: from ids to frozen, validated descriptions."""

from hcasim.catalog.adapter import Adapter, Device, DmaDevice, Services
from hcasim.catalog.adapter_tables import Cache
from hcasim.catalog.buses import PcieDevice, PcixDevice
from hcasim.catalog.fits import Fit, FittedValue, load_fit, render_fit
from hcasim.catalog.folders import KINDS, MODELS, data_path, find_file, list_ids
from hcasim.catalog.host import Host
from hcasim.catalog.link import MTUS, EthernetLink, InfinibandLink, Link
from hcasim.catalog.loader import find_kind, load
from hcasim.catalog.model_file import Loaded
from hcasim.catalog.network.generators import select
from hcasim.catalog.network.topologies import Switch
from hcasim.catalog.network.wiring import Way, Wiring
from hcasim.catalog.overrides import as_texts
from hcasim.catalog.protocol import InfinibandProtocol, IwarpProtocol, Rocev2Protocol
from hcasim.catalog.provenance import EVIDENCE, Evidence, Parameter, Value
from hcasim.catalog.resolve import resolve
from hcasim.catalog.resolved import Machine, NodeGroup
from hcasim.catalog.schema import file_schema
from hcasim.catalog.stack import Stack
from hcasim.catalog.testbed import Testbed
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.reading import read_toml, render_toml
from hcasim.ground.text import printable
from hcasim.ground.units import UnitError, format_size, format_time, parse_size, parse_time

__all__ = [
    "EVIDENCE",
    "KINDS",
    "MODELS",
    "MTUS",
    "Adapter",
    "Cache",
    "CatalogError",
    "Device",
    "DmaDevice",
    "EthernetLink",
    "Evidence",
    "Fit",
    "FittedValue",
    "Host",
    "InfinibandLink",
    "InfinibandProtocol",
    "IwarpProtocol",
    "Link",
    "Loaded",
    "Machine",
    "NodeGroup",
    "Parameter",
    "PcieDevice",
    "PcixDevice",
    "Rocev2Protocol",
    "Services",
    "Stack",
    "Switch",
    "Testbed",
    "UnitError",
    "Value",
    "Way",
    "Wiring",
    "as_texts",
    "data_path",
    "file_schema",
    "find_file",
    "find_kind",
    "format_size",
    "format_time",
    "list_ids",
    "load",
    "load_fit",
    "nearest",
    "one_of",
    "parse_size",
    "parse_time",
    "printable",
    "read_toml",
    "render_fit",
    "render_toml",
    "resolve",
    "select",
]
