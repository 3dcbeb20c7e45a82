"""Makes planning importable: --import-mode=importlib puts no folder on sys.path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
