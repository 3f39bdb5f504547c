"""`python -m int_analyzer`: the same as the command int-analyzer."""

from int_analyzer.cli import run

run()
