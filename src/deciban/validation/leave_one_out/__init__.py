"""Leave-one-out in closed form: what the model of all other rows says of a row, from that of all rows."""

from deciban.validation.leave_one_out.scoring import LeftOutScores, left_out

__all__ = ["LeftOutScores", "left_out"]
