"""Links, packets and switches between adapters."""

from hcasim.fabric.flow_control import connect_ports
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Opcode, Packet
from hcasim.fabric.switch import Switch
from hcasim.fabric.topology import Fabric

__all__ = ["Fabric", "Opcode", "Packet", "Switch", "Transmitter", "connect_ports"]
