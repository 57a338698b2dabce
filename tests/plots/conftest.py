"""Pictures are drawn without a window."""

import matplotlib

matplotlib.use("Agg")
