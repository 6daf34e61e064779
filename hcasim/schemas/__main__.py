"""Writes all schemas as NAME.json: python -m hcasim.schemas FOLDER."""

import json
import sys
from pathlib import Path

from hcasim.ground.writing import make_folder, write_atomically
from hcasim.schemas.making import SCHEMAS, schema

if len(sys.argv) != 2:
    sys.exit("Usage: python -m hcasim.schemas FOLDER")
folder = Path(sys.argv[1])
make_folder(folder)
for name in SCHEMAS:
    text = json.dumps(schema(name), indent=1, sort_keys=True, ensure_ascii=False)
    write_atomically(folder / f"{name}.json", text + "\n")
