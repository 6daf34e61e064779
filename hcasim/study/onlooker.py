"""Who watches a simulator, and what he does not care for."""

from hcasim.engine import Simulator


class Onlooker:
    """Watches a simulator; what he is to note, those who derive from this say."""

    def __init__(self) -> None:
        self.sim = Simulator()

    def follow(self, sim: Simulator) -> None:
        """Watch a simulator from now on."""
        self.sim = sim
        sim.watch(self)

    def built(self, what: object) -> None:
        """Note a machine."""

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None:
        """Note an event."""

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None:
        """Note work."""

    def level(self, block: str, time_ps: int, value: int) -> None:
        """Note how much something holds."""

    def over(self, block: str, operation: int, details: object) -> None:
        """Note that an adapter has done with an operation."""
