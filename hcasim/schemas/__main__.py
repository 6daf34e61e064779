"""Makes the files of this folder: python -m hcasim.schemas."""

from pathlib import Path

from hcasim.ground.writing import write_atomically
from hcasim.schemas import SCHEMAS
from hcasim.schemas.making import made, text

for name in SCHEMAS:
    write_atomically(Path(__file__).with_name(f"{name}.json"), text(made(name)))
